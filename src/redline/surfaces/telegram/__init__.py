"""Telegram as a surface."""
