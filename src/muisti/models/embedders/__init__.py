"""Embedders: local models, hashing without a model, and servers of Ollama or OpenAI."""
