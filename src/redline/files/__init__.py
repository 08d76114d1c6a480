"""What storage does, and the facts that it returns. Nothing here knows of diffs, cards or logs."""
