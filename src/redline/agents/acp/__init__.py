"""Agents of others that speak the Agent Client Protocol: how they are found, run and told truly."""
