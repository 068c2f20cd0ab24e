"""OCR: what is installed, Tesseract's table, and RapidOCR's lines as such a table."""

from __future__ import annotations

import sys

import pytest

from endoxa.documents.differing import Box, Word
from endoxa.errors import CallError, InstallError
from endoxa.io import ocr
from endoxa.io.ocr import ocr_of, parsed
from endoxa.io.rapid import COLUMNS, rows

TABLE = "\n".join(
    [
        "\t".join(COLUMNS),
        "1\t1\t0\t0\t0\t0\t0\t0\t900\t824\t-1\t",
        "5\t1\t1\t1\t1\t1\t70\t77\t90\t19\t96.8\tPortland,",
        "5\t1\t1\t1\t1\t2\t169\t77\t51\t24\t95.3\tApril",
        "5\t1\t1\t1\t2\t1\t70\t99\t20\t24\t95.3\t15",
        "5\t1\t1\t2\t1\t1\t71\t149\t50\t24\t9\tDear",
        "5\t1\t1\t2\t1\t2\t130\t149\t50\t24\t0\t ",
        "5\t1\t1\t2\t1\t3",
    ]
)


def test_the_table_of_tesseract_has_text_and_boxes() -> None:
    text, words = parsed(TABLE)
    assert text == "Portland, April\n15\n\nDear\n"
    assert words[0] == Word("Portland,", Box(70, 77, 90, 19)) and [word.text for word in words][1:] == [
        "April", "15", "Dear",
    ]  # fmt: skip


def test_plain_text_has_no_boxes() -> None:
    assert parsed("New York\nMonday") == ("New York\nMonday", [Word("New"), Word("York"), Word("Monday")])
    assert parsed("") == ("", [])
    assert parsed("\t".join(COLUMNS)) == ("", [])


def test_lines_of_rapidocr_become_words_with_boxes() -> None:
    corners, next_, below = ([[100, y], [300, y + 2], [300, y + 22], [100, y + 20]] for y in (20, 50, 110))
    lines = [(corners, "New  York", 0.9), (next_, "", 0.5), (next_, "May", 0.9), (below, "Sir", 0.9)]
    text, words = parsed("\n".join(rows(lines)))
    assert text == "New York\nMay\n\nSir\n"
    assert words[:2] == [Word("New", Box(100, 20, 67, 22)), Word("York", Box(211, 20, 89, 22))]


def test_without_an_ocr_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda _name: None)
    monkeypatch.setattr(ocr.shutil, "which", lambda _name: None)
    with pytest.raises(
        InstallError, match=r"pip install 'endoxa\[pages\]'.*apt install tesseract-ocr.*mytool \{page\}"
    ):
        ocr_of("tesseract")
    with pytest.raises(InstallError, match="rapidocr is not installed; pip install rapidocr onnxruntime"):
        ocr_of("rapidocr")


def test_tesseract_of_the_system_is_used_where_the_package_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda _name: None)
    monkeypatch.setattr(ocr.shutil, "which", lambda _name: sys.executable)
    found = ocr_of("tesseract", layout=3, language="deu")
    words = found.command.words
    assert words[0] == sys.executable and "--tessdata-dir" not in words
    assert words[words.index("--psm") + 1] == "3" and words[words.index("-l") + 1] == "deu"
    assert found.record["layout"] == 3 and found.environment == {"OMP_THREAD_LIMIT": "1"}


def test_an_unknown_ocr_is_refused() -> None:
    with pytest.raises(CallError, match=r"no OCR is called 'teseract'; did you mean tesseract\?"):
        ocr_of("teseract")
    with pytest.raises(CallError, match=r"lacks \{page\}"):
        ocr_of("cat {file}")
    assert ocr_of("mine=cat {page}").name == "mine"
