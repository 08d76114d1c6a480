"""The terminal: the cards with rich; in a pipe, plain unified diffs."""
