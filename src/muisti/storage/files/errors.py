"""The error of a value in a file. Readers turn it into an error that names the file."""


class BadFrontMatter(Exception):
    """The front matter cannot be parsed. The message says why and what to do."""
