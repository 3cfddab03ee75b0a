"""The schema: one numbered SQL file for each migration."""
