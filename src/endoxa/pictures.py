"""The verbs for pictures: describe, index, run, search."""
