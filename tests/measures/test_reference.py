from pathlib import Path

import pytest

from endoxa.measures.explain import PARTS, parts, reference
from endoxa.measures.registry import REGISTRY


def test_docs_are_made_from_the_registry() -> None:
    written = (Path(__file__).parents[2] / "docs" / "measures.md").read_text()
    assert written == reference(), "run: python -m endoxa.measures.explain > docs/measures.md"


@pytest.mark.parametrize("name", list(REGISTRY))
def test_every_measure_says_what_how_when_and_whence(name) -> None:
    said = parts(REGISTRY[name])
    assert set(said) == {"Meaning", *PARTS}
    assert said["Meaning"].endswith(".")
