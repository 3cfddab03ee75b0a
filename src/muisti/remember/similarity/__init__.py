"""Whether two texts say the same or contradict each other. Pure rules over words."""
