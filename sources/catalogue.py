"""All records, in the order of the sources."""

from __future__ import annotations

from sources import barnard, barnard_words, gimelfarb, lamiroy_sun, quenot, santini
from sources.records import Record

RECORDS: tuple[Record, ...] = (
    *santini.RECORDS, *lamiroy_sun.RECORDS, *gimelfarb.RECORDS, *quenot.RECORDS, *barnard.SECTION_2,
    *barnard_words.RECORDS,
)  # fmt: skip
