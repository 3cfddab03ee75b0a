"""What every server is asked with, whatever it is asked for: bounded questions, and a breaker for when it fails."""
