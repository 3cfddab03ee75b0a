"""Pure text: tokens, normalisation, sentences, times, fingerprints, Markdown, and what must not be stored."""
