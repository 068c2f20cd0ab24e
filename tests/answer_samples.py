"""What counts as an answer: the first line of a command, the first sentence of a page, the first line of a cell."""

from __future__ import annotations

import html
import re


def is_answer(line: str) -> bool:
    """A sentence: it ends in a period, has four words or more, and is neither a table, nor a remark, nor a heading."""
    words = line.split()
    return (
        line.endswith(".") and len(words) >= 4 and line == line.strip() and not re.search(r"\t| {2}", line)
        and not line.startswith(("!", "#", "|", "…"))
    )  # fmt: skip


def first_line(printed: str) -> str:
    return printed.split("\n", 1)[0]


def first_sentence(page: str) -> str:
    """The first paragraph in the body of a page that is neither a link to skip to nor a list of facts."""
    body = page[page.index("<body") :]
    body = re.sub(r"<a class=\"skip\".*?</a>|<p class=\"facts\">.*?</p>|<h1>.*?</h1>", "", body, flags=re.S)
    found = re.search(r"<p[^>]*>(.*?)</p>", body, re.S)
    return html.unescape(re.sub(r"<[^>]+>", "", found[1])).replace("\u00a0", " ").strip() if found else ""
