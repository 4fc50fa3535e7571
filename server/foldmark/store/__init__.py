"""The log of every session, in one SQLite file."""
