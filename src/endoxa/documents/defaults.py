"""Defaults of reading pages. They are apart from their users, because help shows them without loading these."""

from __future__ import annotations

WINDOW = 41  # pixels of the side of the window of a local binariser
TESSERACT = "tesseract"
LAYOUT, RESOLUTION, LANGUAGE = 6, 150, "eng"  # one block of text; pixels per inch
SECONDS = 60.0  # for one page
NEAR = 0.8  # likeness of words from which a misread word is aligned with the right one
LEVELS = (0.2, 0.75)  # least and greatest damage of a letter
