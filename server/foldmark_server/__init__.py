"""The process: settings, composition, command line."""

__version__ = "0.1.0"
