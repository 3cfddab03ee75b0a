"""Pure text processing: tokens, sentences, times, simhash, Markdown and redaction."""
