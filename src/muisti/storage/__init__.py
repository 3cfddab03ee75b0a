"""What the ports are made of here: files, SQLite, the clock."""
