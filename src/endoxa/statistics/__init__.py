"""Statistics that know nothing of retrieval: arrays in, arrays out."""
