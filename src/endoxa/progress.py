"""How long work tells how far it is: progress(what, done, whole)."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
