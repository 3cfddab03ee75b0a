"""Embedders, language models and their shared HTTP client."""
