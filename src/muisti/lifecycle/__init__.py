"""What happens to memories after they are saved: links, sessions, history, retention."""
