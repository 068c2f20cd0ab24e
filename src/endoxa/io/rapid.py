"""Reads one page by RapidOCR, in a process of its own, and prints the words as Tesseract's table does.

RapidOCR finds lines. The box of a word is its part of the line, by the number of its letters. A paragraph begins after
a gap of nearly a line.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence

COLUMNS = "level page_num block_num par_num line_num word_num left top width height conf text".split()

GAP = 0.9  # of the height of a line


def rows(lines: Sequence[tuple[Sequence[Sequence[float]], str, float]]) -> Iterator[str]:
    """The table of lines, each with its four corners, its text and its confidence."""
    yield "\t".join(COLUMNS)
    paragraph, bottom = 1, None
    for number, (corners, text, confidence) in enumerate(lines, 1):
        xs, ys = zip(*corners, strict=True)
        paragraph += bottom is not None and min(ys) - bottom > GAP * (max(ys) - min(ys))
        bottom = max(ys)
        left, width, letters = min(xs), max(xs) - min(xs), max(len(text), 1)
        at = 0
        for place, word in enumerate(text.split(), 1):
            at = text.index(word, at)
            box = left + width * at / letters, min(ys), width * len(word) / letters, max(ys) - min(ys)
            at += len(word)
            cells = [
                5,
                1,
                1,
                paragraph,
                number,
                place,
                *(round(side) for side in box),
                round(100 * confidence, 2),
                word,
            ]
            yield "\t".join(map(str, cells))


def main() -> None:
    """Read the page that is named and print its table."""
    from rapidocr import RapidOCR

    logging.disable(logging.INFO)
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    found = RapidOCR(params=threads)(sys.argv[1])
    lines = [] if found.txts is None else list(zip(found.boxes.tolist(), found.txts, found.scores, strict=True))
    sys.stdout.write("\n".join(rows(lines)) + "\n")


if __name__ == "__main__":
    main()
