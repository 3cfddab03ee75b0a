"""Extract memories from a conversation, by rules (`rules.extract`) or with a model (`llm`)."""
