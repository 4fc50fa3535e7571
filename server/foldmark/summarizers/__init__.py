"""The ways to write a summary, one a module."""
