"""Discord as a surface."""
