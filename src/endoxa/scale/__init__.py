"""Ways to work on many blocks at once."""
