"""Readers and writers of files. A reader parses a file and calls the `of` of its table; it decides nothing else."""

from endoxa.io.formats import sniff
from endoxa.io.read import read, system_names
from endoxa.io.run_files import blocks, map_blocks
from endoxa.io.sources import opened
from endoxa.io.trec_text import Skipped, SkippedLinesWarning
from endoxa.io.write import write

__all__ = ["Skipped", "SkippedLinesWarning", "blocks", "map_blocks", "opened", "read", "sniff", "system_names", "write"]
