"""The append-only session log: its events, its gate, its door and its stores."""
