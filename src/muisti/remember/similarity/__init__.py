"""Whether two texts say the same, or the opposite. Pure rules over words; nothing here reads a file or asks an index."""
