"""All messages in one file, to be reviewed when they change; and no code that reads its own sentences.

`make generate` writes tests/architecture/messages.txt anew.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import endoxa
from endoxa import errors
from endoxa.wording import CATALOGUE

SOURCE = Path(endoxa.__file__).parent
GOLDEN = Path(__file__).with_name("messages.txt")
ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
SHARED = {"unknown", "absent"}  # the functions of endoxa.errors that make one
MADE = {"note", "warning"}  # the functions that make a note of a code and facts

# Shapes of code that reads a sentence of ours. What a line may do instead: read a code, a fact, a field of an error.
READING = re.compile(
    r'startswith\("! |removeprefix\("! |'
    r"\bstr\(error\)\.(partition|split|startswith|endswith|removeprefix|find|index)\((?!\))|"
    r'["\w] in str\((error|note|warning|remark)\)|'
    r"\bre\.\w+\([^)]*\bstr\((error|note|warning)|"
    r"\b(note|warning|remark|sentence)\.(partition|split|startswith|endswith|removeprefix|find|index)\(|"
    r"\bin (note|warning|remark|sentence) for "
)
OTHERS = {  # sentences of other programs, which have no code to read instead
    "store/database.py": "SQLite says that a database is locked in words only"
}
PENDING = {"evaluations/ratings.py"}  # leaves out notes of studies/ by their words: these have no codes yet


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())


def template(node: ast.AST) -> str:
    """The text of an expression with {} for what is filled in; alternatives of a sentence one after another."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(template(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        inner = " | ".join(filter(None, map(template, ast.iter_child_nodes(node.value))))
        return f"{{{inner}}}" if re.search(r"[a-z] ?[a-z]{2}", inner) else "{}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return template(node.left) + template(node.right)
    parts = (template(part) for part in ast.iter_child_nodes(node))
    return " | ".join(part for part in parts if part)


def messages() -> list[str]:
    """`code: sentence` of every note, then `module: kind of error: sentence` of every error."""
    wording = {name: tree for name, tree in modules() if name.startswith("wording/")}
    functions = {
        node.name: node for tree in wording.values() for node in tree.body if isinstance(node, ast.FunctionDef)
    }
    lines = []
    for tree in wording.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value in CATALOGUE:
                        named = functions[value.id] if isinstance(value, ast.Name) and value.id in functions else value
                        text = CATALOGUE[key.value]
                        lines.append(f"{key.value}: {text if isinstance(text, str) else template(named)}")
    faults = []
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS | SHARED:
                remedies = (word.value for word in node.keywords if word.arg == "remedy")
                text = "; ".join(filter(None, map(template, (*node.args, *remedies))))
                faults += [f"{name}: {node.func.id}: {text}"] if text else []
    return [" ".join(line.split()) for line in (*sorted(lines), *sorted(set(faults)))]


def test_all_messages_are_as_reviewed() -> None:
    text = "\n".join(messages()) + "\n"
    if os.environ.get("ENDOXA_RENEW"):
        GOLDEN.write_text(text, encoding="utf-8")
    changed = sorted(set(GOLDEN.read_text(encoding="utf-8").splitlines()) ^ set(text.splitlines()))
    assert not changed, f"messages changed: review them and run `make generate`: {changed[:10]}"


def test_every_code_has_a_sentence_and_every_sentence_is_used() -> None:
    used = {
        node.value
        for name, tree in modules()
        if not name.startswith("wording/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(CATALOGUE) <= used, "sentences that no code uses"
    made = {
        node.args[0].value
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in MADE
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and re.fullmatch(r"[a-z_]+\.[a-z_0-9]+", str(node.args[0].value))
    }
    assert made <= set(CATALOGUE), "codes without a sentence"


def test_no_code_reads_its_own_sentences() -> None:
    reading = [
        f"{name}:{number}: {line.strip()}"
        for name in (path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py")))
        if name not in OTHERS and name not in PENDING
        for number, line in enumerate((SOURCE / name).read_text().splitlines(), 1)
        if READING.search(line)
    ]
    assert not reading, "read a code or a fact instead"


def test_the_mark_of_a_warning_is_made_where_a_terminal_is_written() -> None:
    marking = [
        name
        for name in (path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
        if re.search(r'f?"! ', (SOURCE / name).read_text()) and not name.startswith(("cli/", "notes.py"))
    ]
    assert sorted(marking) == ["reports/rating_terminal.py"]


def test_the_law_knows_the_shapes_that_were_in_use() -> None:
    for line in (
        'line.removeprefix("! ")', 'str(error).partition("; ")[0]', 'if "o such file" in str(error):',
        'note.startswith("labels: ")', "any(text in note for text in REPEATED)", 're.match("row", str(error))',
    ):  # fmt: skip
        assert READING.search(line), line
    for name in PENDING:
        assert READING.search((SOURCE / name).read_text()), f"{name} is no longer pending"
    for line in ("reason=str(error)", '" ".join(str(error).split())'):
        assert not READING.search(line), line
