"""Language models behind a server: those that speak OpenAI's, Anthropic's or Ollama's language."""
