"""Redline shows what a coding agent really changed."""

__version__ = "0.1.0"
