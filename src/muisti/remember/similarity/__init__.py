"""Whether two texts mean the same or contradict each other. Pure rules over words."""
