"""The vault on disk: Markdown, front matter, journal."""
