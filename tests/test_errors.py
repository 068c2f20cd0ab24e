"""One error tree; every message says what, where, what was expected and what to do."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import endoxa
from endoxa import errors
from endoxa.errors import (
    CallError,
    EndoxaError,
    FileError,
    InstallError,
    JoinError,
    MissingFile,
    RefusedError,
    TableError,
    TextError,
    advice,
    did_you_mean,
    refuse_unknown,
    unknown,
)
from endoxa.io.chat import ChatError, RejectedError
from endoxa.io.commands import CommandError
from endoxa.tables import DuplicateItemError, DuplicateJudgmentError


def test_the_tree() -> None:
    for kind in (FileError, MissingFile, TableError, TextError, CallError, JoinError, InstallError, RefusedError):
        assert issubclass(kind, EndoxaError)
        assert kind.__name__ in (errors.__doc__ or ""), "the tree is drawn in the docstring"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (FileError("a.run", "score 'abc' is odd", "mend it", 1042), "a.run:1042: score 'abc' is odd; mend it"),
        (FileError("a.run", "is empty"), "a.run: is empty"),
        (FileError("a.run", "is empty", line=0), "a.run:0: is empty"),
        (TextError("no measure is called 'x'"), "no measure is called 'x'"),
        (TextError("no setting 'x'", "P(x=1)@5", 2), "no setting 'x'\n    P(x=1)@5\n      ^"),
        (TextError("wrong", "P", 0), "wrong\n    P\n    ^"),
        (TextError("wrong", "P", 0, remedy="mend it"), "wrong; mend it\n    P\n    ^"),
        (TableError("score is NaN", remedy="drop it", row=3, table="run"), "row 3 of the run: score is NaN; drop it"),
        (TableError("p is 2", row=3), "p is 2"),
        (FileError("a.parquet", "score is NaN", row=3, table="run"), "a.parquet: row 3 of the run: score is NaN"),
        (FileError("a.csv", "score is NaN", "remove it", 4, row=3, table="run"), "a.csv:4: score is NaN; remove it"),
        (RefusedError("the study is closed", 410, remedy="ask for another"), "the study is closed; ask for another"),
    ],
)  # fmt: skip
def test_messages(error: EndoxaError, says: str) -> None:
    assert str(error) == says


def test_a_file_error_keeps_its_parts() -> None:
    error = FileError("a.run", "what", "remedy", 3)
    assert (error.path, error.problem, error.remedy, error.line) == ("a.run", "what", "remedy", 3)


EXAMPLES: list[EndoxaError] = [
    EndoxaError("what", remedy="remedy", row=2, table="run"),
    FileError("a.run", "what", "remedy", 3, row=2, table="run"),
    MissingFile("a.run", "no such file", "did you mean b.run?", 3, row=2, table="run"),
    TableError("what", remedy="remedy", row=2, table="run"),
    TextError("what", "P(x=1)", 2, remedy="remedy"),
    CallError("what", "P(x=1)", 2, remedy="remedy", command="endoxa eval"),
    JoinError("what", remedy="remedy", row=2, table="run"),
    InstallError("what", remedy="remedy", row=2, table="run"),
    RefusedError("what", 422, remedy="remedy"),
    CommandError("what", remedy="remedy", row=2, table="run"),
    ChatError("what", remedy="remedy", final=True),
    RejectedError("what", remedy="remedy"),
    DuplicateItemError("bm25", "q1", "d1"),
    DuplicateJudgmentError("anna", "q1", "d1"),
]


def _all(kind: type[EndoxaError]) -> Iterator[type[EndoxaError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _all(below)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_crosses_processes_with_all_its_facts(error: EndoxaError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and vars(copy) == vars(error)
    assert (str(copy), repr(copy)) == (str(error), repr(error))
    assert all(vars(error)[fact] for fact in ("problem", "remedy"))


def test_every_class_of_errors_has_an_example() -> None:
    ours = {kind for kind in _all(EndoxaError) if kind.__module__.startswith("endoxa.")}
    assert {type(error) for error in EXAMPLES} == ours


def test_the_same_problem_in_a_file() -> None:
    error = TableError("score is NaN", remedy="remove it", row=3, table="run")
    inside = FileError.of(error, "a.parquet")
    assert (inside.problem, inside.remedy, inside.row, inside.table) == ("score is NaN", "remove it", 3, "run")
    assert str(inside) == "a.parquet: row 3 of the run: score is NaN; remove it"
    assert str(FileError.of(error, "a.csv", 4)) == "a.csv:4: score is NaN; remove it"
    assert type(MissingFile.of(error, "a.csv")) is MissingFile


def test_several_remedies_are_one() -> None:
    assert advice("", "check the name", "", "did you mean a?") == "check the name; did you mean a?"
    assert advice() == advice("", "") == ""


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("nDGC", ["AP", "nDCG"], "did you mean nDCG?"),
        ("ndcg", ["AP", "nDCG"], "did you mean nDCG?"),
        ("xyz", ["AP", "nDCG"], ""),
        ("AP", [], ""),
        ("", ["AP"], ""),
    ],
)
def test_did_you_mean(word: str, known: list[str], hint: str) -> None:
    assert did_you_mean(word, known) == hint


@given(st.text(max_size=12), st.lists(st.text(min_size=1, max_size=8), max_size=6))
def test_did_you_mean_only_names_what_is_known(word: str, known: list[str]) -> None:
    hint = did_you_mean(word, known)
    assert hint == "" or any(hint == f"did you mean {name}?" for name in known)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    refuse_unknown("system", "bm25", ["bm25", "tfidf"])
    with pytest.raises(TextError, match=r"^no system is called 'bm52'; did you mean bm25\?$"):
        refuse_unknown("system", "bm52", ["bm25", "tfidf"])
    with pytest.raises(TextError, match=r"^no test is called 'z' \(there are: t, wilcoxon\)$"):
        refuse_unknown("test", "z", ("t", "wilcoxon"), listed=True)


def test_the_nearest_name_is_the_remedy() -> None:
    error = unknown(RefusedError, "no study is called 'pest'", "pest", ["test"], listed="studies: test", status=404)
    assert (error.problem, error.remedy) == ("no study is called 'pest'", "did you mean test? (studies: test)")
    assert error.status == 404
    error = unknown(RefusedError, "no study is called 'x'", "x", ["test"], listed="studies: test")
    assert (error.problem, error.remedy) == ("no study is called 'x' (studies: test)", "")


def test_a_long_name_does_not_make_a_long_message():
    """A cell of a table may be as long as the file."""
    error = FileError("f.parquet", f"query {'q' * 60_000!r} is listed twice", "remove one")
    assert len(str(error)) < 5000 and str(error).endswith("…; remove one")


# ---- code does not read its own prose -----------------------------------------------------------------

OURS = {kind.__name__ for kind in map(type, EXAMPLES)}
WORDED = {"problem", "remedy"}
READS = {
    "endswith", "find", "findall", "finditer", "fullmatch", "index", "match", "partition", "removeprefix",
    "removesuffix", "replace", "rpartition", "rsplit", "search", "split", "startswith", "sub",
}  # fmt: skip


def _names(annotation: ast.expr | None) -> set[str]:
    """The names in the type of a parameter or of an except clause."""
    return {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)} if annotation else set()


def _prose(node: ast.AST, errors: set[str], texts: set[str]) -> bool:
    """Whether this is the text of an error: str(error), f"{error}", error.problem, error.args, or a name for one."""
    match node:
        case ast.Call(func=ast.Name("str"), args=[ast.Name(name)]) | ast.FormattedValue(value=ast.Name(name)):
            return name in errors
        case ast.Attribute(value=ast.Name(name), attr=attribute):
            return name in errors and attribute in {*WORDED, "args"}
        case ast.Subscript(value=value):
            return _prose(value, errors, texts)
        case ast.JoinedStr(values=values):
            return any(_prose(value, errors, texts) for value in values)
        case ast.Name(name):
            return name in texts
    return False


def read_prose(code: str) -> list[str]:
    """The expressions that take the wording of our errors apart."""
    found = []
    tree = ast.parse(code)
    for scope in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        nodes = list(ast.walk(scope))
        errors = {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and _names(node.type) & OURS}
        errors |= {node.arg for node in nodes if isinstance(node, ast.arg) and _names(node.annotation) & OURS}
        errors.discard(None)
        texts = {
            target.id
            for node in nodes
            if isinstance(node, ast.Assign) and _prose(node.value, errors, set())
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in nodes:
            match node:
                case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[where]):
                    wrong = _prose(where, errors, texts)
                case ast.Call(func=ast.Attribute(value=whose, attr=attribute), args=given) if attribute in READS:
                    wrong = any(_prose(one, errors, texts) for one in (whose, *given))
                case _:
                    wrong = False
            if wrong:
                found.append(f"{node.lineno}: {ast.unparse(node)}")
    halves = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return found + [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in halves
        if node.func.attr in {"partition", "rpartition", "split", "rsplit"}
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value == "; "
    ]


@pytest.mark.parametrize(
    "line",
    [
        "what, _, remedy = str(error).partition('; ')",
        "what = message.split('; ')",
        "missing = 'o such file' in str(error)",
        "missing = 'o such file' not in error.problem",
        "text = str(error); missing = 'o such file' in text",
        "row = ROW.match(error.problem)",
        "row = re.search('row [0-9]+', str(error))",
        "text = f'{error}'.replace(path, label)",
        "own = error.args[0].startswith('row')",
    ],
)
@pytest.mark.parametrize(
    "around",
    ["def f():\n  try: g()\n  except (FileError, OSError) as error:\n    {}", "def f(error: TableError):\n    {}"],
)
def test_reading_prose_is_found(around: str, line: str) -> None:
    assert read_prose(around.format(line))


def test_the_prose_of_others_may_be_read() -> None:
    assert not read_prose("def f():\n  try: g()\n  except OSError as error:\n    if 'locked' in str(error): raise")
    assert not read_prose(
        "def f(error: TableError):\n  return FileError.of(error, 'a.run'), str(error), error.row in {1}"
    )


def test_code_does_not_read_its_own_prose() -> None:
    """An error has facts: its problem, its remedy, its row. The sentence can be edited without breaking a decision."""
    package = Path(endoxa.__file__).parent
    found = {str(path.relative_to(package)): read_prose(path.read_text("utf-8")) for path in package.rglob("*.py")}
    assert len(found) > 100 and {path: lines for path, lines in found.items() if lines} == {}
