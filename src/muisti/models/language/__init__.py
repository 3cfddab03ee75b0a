"""Language models of a server with the API of OpenAI, Anthropic or Ollama."""
