"""Slack as a surface."""
