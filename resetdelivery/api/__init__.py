"""The internal HTTP boundary: other services admit resets, claim work and read health here."""
