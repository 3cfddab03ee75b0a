"""Tests of a vault in a git repository."""
