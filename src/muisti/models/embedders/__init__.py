"""Embedders: models on this machine, hashing without a model, and servers that speak Ollama's or OpenAI's language."""
