"""Joins an agent to any number of surfaces: conversations, permissions, the diff rule, fan-out."""
