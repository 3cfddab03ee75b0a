"""Outside surfaces of the engine: parse, call once, render."""
