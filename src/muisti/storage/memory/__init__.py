"""A store and an index that live in this process and end with it: for tests and throw-away use."""
