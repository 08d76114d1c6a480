"""Tools, the runner that calls them, and recovery after a crash."""
