"""Agents: the contract, the built-in one, and (later floors do not care which) any other."""
