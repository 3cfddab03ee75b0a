"""The schema, one numbered file a change."""
