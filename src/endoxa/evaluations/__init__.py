"""From a run and a reference to an evaluation. Everything here is pure: no files, no clock, no global randomness.

`references` says what runs can be scored against, `settings` holds every setting, `evaluation` is the one value
that all surfaces read. The other modules evaluate one kind of reference each.
"""
