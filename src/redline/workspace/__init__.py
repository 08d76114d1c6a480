"""What is and was on disk: the private store of bytes, and (with it) the snapshots of a workspace."""
