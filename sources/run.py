"""Write the page of the sources: `python -m sources.run`, or with the studies on open data run anew, `make sources`."""

from __future__ import annotations

import argparse
import datetime
import os
import time
from collections.abc import Sequence
from pathlib import Path

from endoxa import __version__
from endoxa.errors import EndoxaError
from sources import kept, studies
from sources.catalogue import RECORDS
from sources.markdown import markdown
from sources.page import page
from sources.records import Record
from sources.written import answer, entries

PAGE = Path("demo/sources.html")
DOCUMENT = Path(__file__).parents[1] / "docs" / "sources.md"


def main(words: Sequence[str] | None = None) -> None:
    """Compute the records, write the page and the document, and print the answer."""
    parser = argparse.ArgumentParser(prog="python -m sources.run", description=__doc__)
    parser.add_argument(
        "--only", default="", metavar="NAME", help="records whose name starts so: gimelfarb, barnard-table-6"
    )
    parser.add_argument("--to", default=PAGE, type=Path, metavar="PAGE.html", help=f"the page; default {PAGE}")
    parser.add_argument("--fresh", action="store_true", help="run the studies on open data anew; keep their results")
    options = parser.parse_args(words)
    chosen = [record for record in RECORDS if record.slug.startswith(options.only)]
    if not chosen:
        raise SystemExit(
            f"no table or figure is called {options.only!r}; the names: {', '.join(one.slug for one in RECORDS)}"
        )
    if options.fresh:
        freshen(chosen)
    results = kept.read()
    found = entries(chosen, results)
    options.to.parent.mkdir(parents=True, exist_ok=True)
    options.to.write_text(page(found, {"Endoxa": __version__, "Command": "make sources"}), encoding="utf-8")
    print(answer(found))
    print(f"Page: {options.to}")
    if not options.only:
        DOCUMENT.write_text(markdown(found), encoding="utf-8")
        print(f"Document: {DOCUMENT}")


def freshen(records: Sequence[Record]) -> None:
    """Run the studies that the records need. One that cannot be run keeps its result, and the reason is printed."""
    data = os.environ.get("ENDOXA_DATA")
    for name in dict.fromkeys(record.study for record in records if record.study):
        study = studies.STUDIES[name]
        if study.needs_data and not data:
            print(f"{name}: kept, because it needs the checking data: make sources ENDOXA_DATA=DIR")
            continue
        begun = time.perf_counter()
        try:
            result = study.run(Path(data or "."))
        except (EndoxaError, ImportError, OSError) as error:
            print(f"{name}: kept, because it could not be run: {error}")
            continue
        seconds = round(time.perf_counter() - begun)
        today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        changed = kept.keep(name, kept.Kept(study.command, today, seconds, result))
        print(f"{name}: {seconds} s, {'a new result' if changed else 'the same result as kept'}")


if __name__ == "__main__":
    main()
