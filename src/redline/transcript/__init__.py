"""The pure projection of events that every surface draws: rows, and the fold that makes them."""
