"""Studies for tests, set up in a home that is open."""

from __future__ import annotations

from endoxa.io.study_files import Sources
from endoxa.store import making
from endoxa.store.home import Home
from endoxa.studies.design import Settings


def make(home: Home, settings: Settings, sources: Sources, *, now: float) -> making.Planned:
    """Read the input of a study and enter it."""
    return making.enter(home, making.draft(settings, sources, home.files), now=now)
