"""Hooks: agents call these at their own events, to recall memories and to capture conversations."""
