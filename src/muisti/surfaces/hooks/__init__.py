"""What agents call at their own events: recall at the start and with each prompt, capture at the end."""
