"""The rules of the house: layers, names, tests, and the walk of one command through it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "endoxa"
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
COVERED = tomllib.loads((Path(__file__).parent / "covered.toml").read_text())


def dotted(path: Path) -> str:
    """`measures/gather.py` as `measures.gather`."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> list[tuple[str, str]]:
    """(module, name) of everything that a module imports from the package, wherever it does so."""
    tree = ast.parse((SOURCE / path).read_text())
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "endoxa":
            found += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names if alias.name.split(".")[0] == "endoxa"]
    return found


def test_each_layer_imports_only_those_below() -> None:
    """The same contract that `make layers` checks, walked over the source so that it cannot be forgotten."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    rows = [[name.strip().removeprefix("endoxa.") for name in row.split("|")] for row in contract["layers"]]
    height = {name: len(rows) - place for place, row in enumerate(rows) for name in row}
    packages = {path.parts[0].removesuffix(".py") for path in MODULES} - {"__init__"}
    assert packages == set(height), "every package and module has its layer"
    for path in MODULES:
        own = path.parts[0].removesuffix(".py")
        if own == "__init__":
            continue
        for module, name in imports(path):
            other = [*module.split("."), name][1]
            if other in height and other != own:
                assert height[other] < height[own], f"{path} imports endoxa.{other}, which is not below endoxa.{own}"


def test_no_module_imports_another_ones_underscore_name() -> None:
    private = [
        f"{path}: {module}.{name}"
        for path in MODULES
        for module, name in imports(path)
        if name.startswith("_") and not name.startswith("__")
    ]
    assert not private


def test_every_module_has_a_test_of_its_name_or_is_listed_with_the_test_that_covers_it() -> None:
    tests = {path.stem: path for path in (ROOT / "tests").rglob("test_*.py")}
    lacking, unneeded = [], []
    for path in MODULES:
        name, parent = path.stem, path.parent.name
        if name == "__init__" or "migrations" in path.parts:
            continue
        named = {f"test_{name}", f"test_{parent}_{name}", f"test_{name}_{parent}", f"test_{parent.rstrip('s')}_{name}"}
        module = dotted(path)
        if named & set(tests):
            if module in COVERED:
                unneeded.append(module)
        elif module not in COVERED:
            lacking.append(module)
    assert not lacking, f"{lacking}: write a test of that name, or name the test in architecture/covered.toml"
    assert not unneeded, f"in covered.toml, but they have a test of their name: {unneeded}"
    for module, test in COVERED.items():
        assert (SOURCE / (module.replace(".", "/") + ".py")).exists(), f"covered.toml names {module}, which is gone"
        assert (ROOT / "tests" / test).exists(), f"{module} is said to be covered by {test}, which is not there"


def test_the_command_line_has_the_files_of_the_verbs() -> None:
    from endoxa.cli import NOT_COMMANDS

    verbs = {path.stem for path in (SOURCE / "verbs").glob("*.py")} - {"__init__", "inputs", "parameters", "contending"}
    commands = {path.stem for path in (SOURCE / "cli").glob("*.py")} - {"__init__"} - NOT_COMMANDS
    assert verbs == commands


SAME_TOPIC = {"__init__", "env"}


def test_a_module_name_means_one_thing() -> None:
    """Names may recur along one topic (a verb, its command, its page), never for different things."""
    names = Counter(path.stem for path in MODULES if path.parts[0] != "cli")
    recurring = {name for name, count in names.items() if count > 1} - SAME_TOPIC
    allowed = {
        "backtest": {"evaluations", "reports", "verbs"},
        "consensus": {"beliefs", "evaluations"},  # the belief, and the evaluation under it
        "contest": {"evaluations", "reports", "verbs"},
        "gallery": {"reports", "verbs"},
        "ratings": {"evaluations", "reports"},
        "evaluation": {"evaluations", "reports"},
        "evaluate": {"measures", "verbs"},
        "explain": {"measures", "verbs"},
        "read": {"io", "verbs"},
        "write": {"io", "verbs"},
        "taxonomy": {"beliefs", "tables"},
        "run": {"tables", "verbs"},
        "registry": {"engines", "measures"},  # the table of the things of the package
        "rate": {"studies", "verbs"},  # a kind of study, and the verb that analyses its answers
        "study": {"verbs"},
        "trials": {"reports", "searches", "verbs"},
    }
    for name in recurring:
        homes = {path.parts[0] for path in MODULES if path.stem == name and path.parts[0] != "cli"}
        assert homes <= allowed.get(name, set()), f"{name} stands in {sorted(homes)}"


def test_every_promise_names_a_test_that_is_there() -> None:
    rows = [row for row in (ROOT / "docs/promises.md").read_text().splitlines() if row.startswith("| ")]
    promises = [row for row in rows if not row.startswith(("| promise |", "| kind |"))]
    for promise in promises:
        named = re.findall(r"`(tests/[\w/.]+|make \w+[^`]*|endoxa [^`]*|python -m [^`]*)`|(the same)", promise)
        assert named, promise
        assert all((ROOT / word).exists() for word, _ in named if word.startswith("tests/")), promise
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make (\w+)", "".join(promises))) <= targets


def test_no_front_door_of_old_is_left() -> None:
    gone = ("verbs.py", "doubt.py", "ratings.py", "benchmark.py", "contests.py", "pictures", "tables.py")
    gone += ("cli/under_doubt.py", "cli/bundled.py")
    assert not [name for name in gone if (SOURCE / name).exists()]


def test_only_verbs_coerce_input() -> None:
    """Only verbs/ calls the readers that take anything; the study server reads the files that people upload."""
    for path in MODULES:
        if path.parts[0] in {"verbs", "io"} or path.stem == "provider":
            continue
        for module, name in imports(path):
            allowed = {"Files", "is_there", "kind_of"} | ({"read"} if path.parts[0] in {"store", "web"} else set())
            coercing = module in {"endoxa.io.read", "endoxa.verbs.inputs"} and name not in allowed
            assert not coercing, f"{path} imports {module}.{name}"


def test_settings_are_not_swallowed() -> None:
    """`**anything` is allowed where a registry checks the names, and there only."""
    checked = {
        "verbs/evaluate.py", "verbs/measure.py", "verbs/compare.py", "verbs/report.py",  # Settings.of
        "verbs/decide.py",  # the same
        "verbs/believe.py", "beliefs/models.py", "evaluations/ratings.py",  # the model's own signature
        "engines/registry.py",  # the engine's own fields
        "evaluations/settings.py", "measures/registry.py",  # fields of a frozen dataclass
        "declared.py", "cli/derived.py", "cli/groups.py", "cli/root.py",  # fields of a mark or a command, typed words
        "evaluations/evaluation.py", "tables/checks.py",  # fields of a frozen dataclass, checked
        "images/scenery.py", "images/segment.py",  # the method's own signature
        "io/table_files.py", "measures/grammar.py", "measures/pairs.py", "measures/uncertain.py",  # fields, settings
        "policies.py", "store/catalogue.py", "later.py",  # fields of a policy, columns of a table, a function later
        "notes.py",  # the facts that the template of a code takes
        "errors.py",  # the facts that the class of an error takes
        "reports/figures/style.py",  # the look of a line, which matplotlib checks
        "searches/baselines.py",  # what every learner may be given
    }  # fmt: skip
    swallowing = []
    for path in MODULES:
        for node in ast.walk(ast.parse((SOURCE / path).read_text())):
            takes = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.args.kwarg is not None
            if takes and path.parts[0] != "web" and str(path) not in checked and node.name[0] != "_":
                swallowing.append(f"{path}:{node.name}")
    assert not swallowing


WALK = """
import json, sys, threading
from pathlib import Path
import endoxa.cli
from endoxa.io import formats
from endoxa.measures import grammar
from endoxa import policies

called, counts = {}, {"sniff": 0, "parsed": 0, "policy": 0}

def watch(frame, event, argument):
    code = frame.f_code
    if event != "call" or "/endoxa/" not in code.co_filename or code.co_name == "<module>":
        return
    module = code.co_filename.rpartition("/endoxa/")[2]
    caller, importing = frame.f_back, False
    outer = frame.f_back
    while outer is not None:
        importing |= "importlib" in outer.f_code.co_filename
        outer = outer.f_back
    if importing:
        return
    while caller is not None and "/endoxa/" not in caller.f_code.co_filename:
        caller = caller.f_back
    origin = caller.f_code.co_filename.rpartition("/endoxa/")[2] if caller is not None else "shell"
    counts["sniff"] += module == "io/formats.py" and code.co_name == "sniff"
    counts["parsed"] += module == "measures/grammar.py" and code.co_name == "_parse_own"
    counts["policy"] += module == "policies.py" and code.co_name == "__post_init__"
    if origin not in called.setdefault(module, []):
        called[module].append(origin)

sys.argv = ["endoxa", "eval", *sys.argv[1:]]
threading.setprofile(watch)
sys.setprofile(watch)
try:
    endoxa.cli.main()
except SystemExit:
    pass
finally:
    sys.setprofile(None)
    threading.setprofile(None)
print(json.dumps({"called": called, "counts": counts}), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The modules that `endoxa eval qrels run nDCG@10` calls, each with its callers, and how often it decides."""
    import json

    folder = tmp_path_factory.mktemp("walk")
    (folder / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n")
    (folder / "bm25.run").write_text("q1 Q0 a 1 3 bm25\nq1 Q0 b 2 2 bm25\nq2 Q0 d 1 3 bm25\nq2 Q0 c 2 2 bm25\n")
    done = subprocess.run(
        [sys.executable, "-c", WALK, str(folder / "qrels.txt"), str(folder / "bm25.run"), "nDCG@10"],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert "0.8155" in done.stdout
    return json.loads(done.stderr.splitlines()[-1])


def package(module: str) -> str:
    """`io/` of io/read.py, `later` of later.py: as ARCHITECTURE.md writes packages."""
    folder, slash, _ = module.partition("/")
    return folder + slash if slash else folder.removesuffix(".py")


def test_the_walk_of_one_command_is_as_architecture_says(walk) -> None:
    """Every package that is called has its row, with its callers; every module that a row names is called."""
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("## The walk of one command")[2].partition("\n## ")[0]
    rows = [row.split(" | ") for row in re.findall(r"^\| (`.*) \|$", text, re.MULTILINE)]
    names = re.compile(r"`([\w/]+)`")
    callers: dict[str, set[str]] = {}
    for module, origins in walk["called"].items():
        callers.setdefault(package(module), set()).update(map(package, origins))
    assert {name for row in rows for name in names.findall(row[0])} == set(callers)
    for packages, origins, _what in rows:
        for name in names.findall(packages):
            expected = callers[name] - {name, "shell"}
            assert origins == "all" or set(names.findall(origins)) == expected, (
                f"{name} is called by {sorted(expected)}"
            )
    named = set(re.findall(r"`(\w+/\w+\.py)`", "".join(row[2] for row in rows)))
    assert named <= set(walk["called"]), "named in the walk, and not called"
    most = re.search(r"fewer than (\d+) modules", text)
    assert most and len(walk["called"]) < int(most[1]), f"{len(walk['called'])} modules are called"


def test_the_walk_decides_once(walk) -> None:
    assert walk["counts"] == {"sniff": 2, "parsed": 1, "policy": 1}  # two files, one measure, one policy


def test_a_folder_of_tests_can_be_run_alone() -> None:
    """pytest finds samples beside a test or in tests/; those of another folder only if that folder is run too."""
    tests = Path(__file__).parents[1]
    folders = {path.stem: path.parent for path in tests.rglob("*_samples.py")}
    for path in tests.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in folders:
                assert folders[node.module] in {path.parent, tests}, (
                    f"{path.name} imports {node.module}: move it to tests/"
                )
