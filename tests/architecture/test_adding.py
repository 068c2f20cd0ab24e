"""A toy of everything that can be added, entered at run time, and found wherever a real one would be found."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Annotated, Any

import click
import numpy as np
import polars as pl
import pytest
from command_line import done

import endoxa
from endoxa import cli
from endoxa.beliefs import models
from endoxa.cli.derived import derived
from endoxa.cli.root import root
from endoxa.declared import option
from endoxa.measures import grammar, registry
from endoxa.measures.lists import Lists
from endoxa.tables import Belief, Opinions

RUN = "q Q0 a 1 3 bm25\nq Q0 b 2 2 bm25\nq Q0 c 3 1 bm25\n"
OTHER = "q Q0 c 1 3 dense\nq Q0 a 2 2 dense\nq Q0 b 3 1 dense\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    for name, text in (("bm25.run", RUN), ("dense.run", OTHER), ("qrels.txt", "q 0 a 1\nq 0 b 0\nq 0 c 1\n")):
        (tmp_path / name).write_text(text)
    return str(tmp_path / "qrels.txt"), str(tmp_path / "bm25.run"), str(tmp_path / "dense.run")


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> str:
    """The share of the first two that are relevant, squared."""
    monkeypatch.setattr(registry, "REGISTRY", registry.REGISTRY)
    monkeypatch.setattr(grammar, "KNOWN", grammar.KNOWN)

    @registry.register("Toy", monotone=True)
    def toy(lists: Lists, *, k: int = 2, rel: float = 1) -> Any:
        """Share of the first k that are relevant, squared.

        Formula: (hits in the first k / k)².
        Misleads: always; it is a toy.
        Source: this test.
        """
        return (lists.hits(rel, k) / k) ** 2

    yield "Toy"
    registry.REGISTRY.pop("Toy")
    grammar.KNOWN.pop("Toy", None)


def test_a_measure_is_found_in_help_documentation_laws_and_command_line(measure: str, files) -> None:
    qrels, bm25, _dense = files
    assert "(hits in the first k / k)²" in done("explain", "Toy")
    assert "Toy" in done("explain")
    assert "0.25" in done("eval", qrels, bm25, "Toy", "-o", "tsv")
    assert endoxa.measure(bm25, qrels, "Toy").frame["value"].to_list() == [0.25]
    belief = Belief.of(pl.DataFrame({"query": "q", "item": ["a", "b"], "p": [0.5, 0.5]}))
    drawn = endoxa.measure(bm25, belief, "Toy", worlds=4000).frame["value"].item()
    assert drawn == pytest.approx(0.25 * 0.5 + 1 * 0.25, abs=0.03)  # P(one) · 1/4 + P(both) · 1
    assert "Toy" in endoxa.explain()


def test_a_belief_model_is_found_in_verbs_help_and_command_line(monkeypatch: pytest.MonkeyPatch, files) -> None:
    qrels, bm25, dense = files
    monkeypatch.setattr(models, "MODELS", dict(models.MODELS))

    def stubborn(opinions: Opinions, *, p: float = 0.5) -> Belief:
        """Every pair that anybody mentions is relevant with the same probability."""
        pairs = opinions.frame.select("query", "item").unique()
        return Belief.of(pairs.with_columns(pl.lit(p).alias("p")), model="stubborn")

    models.register("stubborn", stubborn)
    assert endoxa.believe(qrels, "stubborn", p=0.25).frame["p"].unique().to_list() == [0.25]
    evaluation = endoxa.evaluate([bm25, dense], qrels, ["P@2"], model="stubborn", worlds=20)
    assert evaluation.summary["value"].to_list() == [0.5, 0.5]
    assert "belief=stubborn" in done("eval", qrels, bm25, dense, "P@2", "--model", "stubborn", "--worlds", "20", "-v")
    assert "stubborn" in models.described()


def test_a_verb_is_found_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def toy(count: Annotated[int, option("How often.", least=1)] = 1) -> str:
        """Say something.

        Examples:
            endoxa toy --count 2
        """
        return "toy " * count

    def print_toy(text: str) -> None:
        print(text)

    module = types.ModuleType("endoxa.cli.toy")
    module.COMMANDS = (derived("toy", toy, print_toy),)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    files = cli.listed()
    monkeypatch.setattr(cli, "listed", lambda: files | {"toy": "endoxa toy: say something."})
    assert "Say something" in done("help")
    printed = done("toy", "--help")
    assert "endoxa toy --count 2" in printed and "How often.  [default: 1; x>=1]" in printed
    assert done("toy", "--count", "2").split() == ["toy", "toy"]


def test_a_setting_is_found_in_library_and_command_line() -> None:
    """Every field of Settings is a keyword with its default, an option with its help, and a row of docs/cli.md."""
    import inspect

    from endoxa.evaluations.settings import DEFAULTS, REGISTRY

    parameters = inspect.signature(endoxa.evaluate).parameters
    documented = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    command = root().get_command(click.Context(root()), "eval")
    assert command is not None
    options = {flag: given for given in command.params for flag in given.opts}
    for name, setting in REGISTRY.items():
        assert parameters[name].default == DEFAULTS[name]
        flags = setting.flags or (f"--{name.replace('_', '-')}",)
        for flag in flags:
            assert (getattr(options[flag], "help", None) or "").startswith(setting.help)
        assert f"`{flags[-1]}`" in documented, f"docs/cli.md has no row for {flags[-1]}"
        assert setting.help in documented
        assert setting.help in (endoxa.evaluate.__doc__ or "")


@pytest.mark.parametrize(
    "where",
    [
        ("tests/studies/test_kinds.py", "toy"),
        ("tests/engines/test_registry.py", "toy"),
        ("tests/images/test_segment.py", "register"),
        ("tests/measures/test_measures_registry.py", "toy"),
    ],
)
def test_the_other_toys_stand_with_their_packages(where: tuple[str, str]) -> None:
    path, word = where
    assert word in (Path(__file__).parents[2] / path).read_text().lower()


def test_the_recipes_name_files_that_exist() -> None:
    import re

    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    root = Path(__file__).parents[2]
    for name in re.findall(r"`((?:tests|src|docs|measures|beliefs|evaluations|studies|io|cli)/[\w/.-]+\.\w+)`", text):
        if "NAME" in name:
            continue
        assert (root / name).exists() or (root / "src" / "endoxa" / name).exists(), name


def test_randomness_has_one_seed() -> None:
    """Nothing below the verbs makes a generator without a seed."""
    import re

    source = Path(endoxa.__file__).parent
    for path in source.rglob("*.py"):
        text = path.read_text()
        assert not re.search(r"default_rng\(\s*\)", text), f"{path.name} draws without a seed"
    assert np.random.default_rng(0).random() == np.random.default_rng(0).random()
