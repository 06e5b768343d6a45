"""A worker outside the project: it knows the internal API and its own providers, and no database."""
