"""endoxa images gallery: a page of what systems returned."""

from __future__ import annotations

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.verbs.gallery import gallery


def print_gallery(page: str, *, to: str, depth: int) -> None:
    """Print what the page shows, and its address."""
    output.say(f"{to} shows each query and the first {depth} results of every system.")
    output.tell_page(to)


COMMANDS = (
    g.pictured(
        "gallery", gallery, print_gallery, before=lambda values: output.need_page(values["to"]),
        defaults={"to": "gallery.html"},
    ),
)  # fmt: skip
