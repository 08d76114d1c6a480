"""The dashboard: sessions, rows and actions over HTTP, and what changes as server-sent events."""
