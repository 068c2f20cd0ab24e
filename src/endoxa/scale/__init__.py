"""Ways to work on many blocks at once: on this machine, or on Spark."""
