"""Views of a corpus: whose vectors are taken, what is said where they are missing, and which pictures are copies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from vector_samples import write_vectors

from endoxa.io import picture_views
from endoxa.io.descriptions import describe
from endoxa.io.opening import open_corpus
from endoxa.io.picture_views import descriptors_of, views_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, colour in (("red", (255, 0, 0)), ("blue", (0, 0, 255)), ("again", (255, 0, 0))):
        Image.new("RGB", (16, 12), colour).save(tmp_path / f"{name}.png")
    write_vectors(tmp_path / "all.npz", ["blue", "red", "again"], np.arange(6.0).reshape(3, 2))
    write_vectors(tmp_path / "few.npz", ["blue"], np.ones((1, 2)))
    return tmp_path


def test_views_are_in_the_order_of_the_items(folder: Path) -> None:
    corpus = open_corpus(folder)
    described = describe(corpus, descriptors_of(folder / "all.npz"), folder / "home", workers=1)
    items = ["red", "blue", "again"]
    views, notes = views_of(corpus, described, items, folder / "all.npz", folder / "home")
    assert views.vectors is not None and views.vectors.tolist() == [[2, 3], [0, 1], [4, 5]]
    red, blue = views.colour[0].argmax(), views.colour[1].argmax()
    assert red != blue and views.colour[0, red] == 255 and (views.colour[0] == views.colour[2]).all()
    assert views.texture.shape == (3, 120)
    assert views.copies[0] == views.copies[2] != views.copies[1]
    assert notes == ["1 picture is a copy of others: copies are left out together"]


def test_missing_vectors_are_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = open_corpus(folder)
    monkeypatch.setattr(picture_views, "available", lambda: ("keywords",))
    assert len(descriptors_of(None)) == 1
    described = describe(corpus, descriptors_of(None), folder / "home", workers=1)
    for vectors, said in (
        (None, "without vectors (pip install"),
        (folder / "few.npz", "2 pictures have no vector (again"),
    ):
        views, notes = views_of(corpus, described, ["red", "blue", "again"], vectors, folder / "home")
        assert views.vectors is None and said in notes[0] and "colours and surfaces only" in notes[0]
