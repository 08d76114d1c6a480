"""What a change is, and how one is computed, printed, parsed, derived and reversed.

Everything here is pure: bytes and records in, bytes and records out. This is the only folder that computes a diff.
"""
