"""Moving a live sender over to this one: steps with their preconditions, comparison, verification."""
