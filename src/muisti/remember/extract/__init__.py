"""Memories out of a talk, by rules alone: no model, no clock, no file. `rules.extract` is the door."""
