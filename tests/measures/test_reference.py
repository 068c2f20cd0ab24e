import math
from pathlib import Path

import pytest

import endoxa
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


@pytest.mark.parametrize("name", ["SetF", "F@2"])
def test_f_is_undefined_where_nothing_is_relevant_and_the_text_says_so(name: str) -> None:
    """The formula alone gives 0 there. No F without a relevant item, and 0 for an empty list."""
    assert "Undefined where nothing is relevant" in parts(REGISTRY[name.partition("@")[0]])["Formula"]
    run = {"some": {"q": {"a": 2.0, "b": 1.0}, "p": {"a": 1.0}}, "none": {"p": {"a": 1.0}}}
    values = endoxa.measure(run, {"q": {"a": 0, "b": 0}, "p": {"a": 1}}, name).to_dict()
    assert math.isnan(values["some"]["q"][name])
    assert endoxa.measure(run, {"q": {"a": 1}, "p": {"a": 1}}, name).to_dict()["none"]["q"][name] == 0
