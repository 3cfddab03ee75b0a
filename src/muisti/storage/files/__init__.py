"""The vault on disk: Markdown files with front matter, journal, conversations."""
