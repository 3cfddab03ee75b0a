"""Upkeep: sync, reindex, verify, sessions, use."""
