"""Reading and writing: the edge. It reads, calls the tables' `of`, and writes; it decides nothing."""

from endoxa.io.formats import sniff
from endoxa.io.read import read, system_names
from endoxa.io.run_files import blocks, map_blocks
from endoxa.io.sources import opened
from endoxa.io.trec_text import Skipped, SkippedLinesWarning
from endoxa.io.write import write

__all__ = [
    "Skipped",
    "SkippedLinesWarning",
    "blocks",
    "map_blocks",
    "opened",
    "read",
    "sniff",
    "system_names",
    "write",
]
