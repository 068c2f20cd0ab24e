"""Results of the studies on open data, kept beside the code so that the page can be written without running them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLACE = Path(__file__).with_name("kept.json")
DIGITS = 5


@dataclass(frozen=True)
class Kept:
    """The result of a study, the command that gives it, the day it was run and the seconds it took."""

    command: str
    date: str
    seconds: int
    result: Any


def read(place: Path = PLACE) -> dict[str, Kept]:
    """All kept results by the names of their studies."""
    if not place.exists():
        return {}
    return {name: Kept(**entry) for name, entry in json.loads(place.read_text(encoding="utf-8")).items()}


def keep(name: str, new: Kept, place: Path = PLACE) -> bool:
    """Keep a result; whether it differs from the kept one. The same result leaves the file as it is."""
    entries = read(place)
    old, new = entries.get(name), Kept(new.command, new.date, new.seconds, rounded(new.result))
    if old is not None and (old.command, old.result) == (new.command, new.result):
        return False
    entries[name] = new
    text = json.dumps({key: vars(entries[key]) for key in sorted(entries)}, ensure_ascii=False, separators=(",", ":"))
    lines = text.replace('},"', '},\n"').replace(']],"', ']],\n"')
    place.write_text(f"{lines}\n", encoding="utf-8")
    return True


def rounded(value: Any) -> Any:
    """Numbers to five decimals, NaN as null, tuples as lists: what JSON gives back."""
    if isinstance(value, float):
        return round(value, DIGITS) + 0.0 if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return value
