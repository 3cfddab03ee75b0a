"""The vault over HTTP: for chat applications, and for the page in the browser."""
