"""Small wrong changes of a module: each is one that a careless hand could make, and that a test should notice."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
TYPES = {"cast", "TypeVar", "NewType"}  # calls whose arguments are types or names
CONVERSIONS = {"asarray", "float", "bool"}  # calls for the type checker: what they are given is as good


@dataclass(frozen=True)
class Mutant:
    """One change: `old` became `new` in a function (`nth` of its kind there); `number` finds the place in the tree.

    function   the qualified name of the innermost function, or `` at the level of the module
    first      the first line of that function, decorators included; 0 at the level of the module
    """

    module: str
    line: int
    function: str
    first: int
    old: str
    new: str
    nth: int
    number: int

    @property
    def key(self) -> str:
        """What names it, also when lines have moved: `old → new`, with #2 for the second of its kind."""
        return f"{self.old} → {self.new}" + (f" #{self.nth}" if self.nth > 1 else "")

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.function or 'module'}: {self.key}"


@dataclass(frozen=True)
class Change:
    """A node of the tree that is replaced."""

    node: ast.AST
    new: ast.AST
    function: str
    first: int


@cache
def mutants(source: Path, module: str) -> list[Mutant]:
    """All mutants of a module, in the order of the file."""
    found, seen = [], Counter[tuple[str, str, str]]()
    for number, change in enumerate(_changes(ast.parse(source.read_text()))):
        old, new = ast.unparse(change.node), ast.unparse(change.new)
        seen[kind := (change.function, old, new)] += 1
        line = getattr(change.node, "lineno", change.first)
        found.append(Mutant(module, line, change.function, change.first, old, new, seen[kind], number))
    return found


def mutated(source: Path, number: int) -> ast.Module:
    """The tree of the module with this change."""
    tree = ast.parse(source.read_text())
    change = next(one for at, one in enumerate(_changes(tree)) if at == number)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is change.node:
                setattr(parent, name, change.new)
            elif isinstance(value, list) and any(one is change.node for one in value):
                setattr(parent, name, [change.new if one is change.node else one for one in value])
    return ast.fix_missing_locations(tree)


def _changes(tree: ast.Module) -> Iterator[Change]:
    yield from _inside(tree, "", 0)


def _inside(node: ast.AST, function: str, first: int) -> Iterator[Change]:
    """The changes of a node and of what is in it, without annotations, docstrings and the words of errors."""
    if isinstance(node, ast.FunctionDef):
        function = f"{function}.{node.name}".strip(".")
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    elif isinstance(node, ast.ClassDef):
        function = f"{function}.{node.name}".strip(".")
    if not isinstance(node, ast.Module):
        for new in _of(node):
            yield Change(node, ast.copy_location(new, node), function, first)
    for child in _children(node):
        yield from _inside(child, function, first)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Call) and _calls(node, TYPES):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: a guard against what does not happen
        return
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "op", "ops", "bases"}:
            continue
        if isinstance(node, ast.arguments) and name not in {"defaults", "kw_defaults"}:
            continue
        if isinstance(node, ast.Subscript) and name == "slice" and isinstance(value, ast.Slice):
            yield from (part for part in (value.lower, value.upper, value.step) if part is not None)
            continue
        values = value if isinstance(value, list) else [value]
        yield from (one for one in values if isinstance(one, ast.AST))


def _of(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that may take the place of this one."""
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            for other in COMPARED[type(op)]:
                yield _with(node, ops=[*node.ops[:at], other(), *node.ops[at + 1 :]])
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in COMPUTED:
        if not (isinstance(node.op, ast.Add | ast.Mod) and _is_text(node)):
            yield _with(node, op=COMPUTED[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield copy.deepcopy(node.operand)
    elif isinstance(node, ast.IfExp):
        yield _with(node, body=node.orelse, orelse=node.body)
    elif isinstance(node, ast.Constant):  # also of an axis: -1 becomes 0, 0 becomes 1
        yield from _other_constants(node)
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
        yield from _returned(node, node.value)
    elif isinstance(node, ast.Subscript):
        yield from _sliced(node)


def _other_constants(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))


def _returned(node: ast.Return, call: ast.Call) -> Iterator[ast.AST]:
    """Instead of what a function makes of it, its first argument; and the call without a keyword."""
    if (
        call.args
        and not isinstance(call.args[0], ast.Starred | ast.GeneratorExp)
        and not _calls(call, TYPES | CONVERSIONS)
    ):
        yield _with(node, value=call.args[0])
    for at, keyword in enumerate(call.keywords):
        if keyword.arg is not None:
            yield _with(node, value=_with(call, keywords=[*call.keywords[:at], *call.keywords[at + 1 :]]))


def _sliced(node: ast.Subscript) -> Iterator[ast.AST]:
    """A slice that begins or ends one later."""
    if isinstance(node.slice, ast.Slice):
        for name in ("lower", "upper"):
            bound = getattr(node.slice, name)
            if bound is not None and not isinstance(bound, ast.Constant):  # constants are changed as such
                later = ast.BinOp(copy.deepcopy(bound), ast.Add(), ast.Constant(1))
                yield _with(node, slice=_with(node.slice, **{name: later}))
            elif bound is None and name == "lower" and node.slice.upper is not None:
                yield _with(node, slice=_with(node.slice, lower=ast.Constant(1)))


def _calls(call: ast.Call, names: set[str]) -> bool:
    return ast.unparse(call.func).rpartition(".")[2] in names


def _is_text(node: ast.AST) -> bool:
    """Whether texts are put together."""
    return any(
        isinstance(one, ast.JoinedStr) or (isinstance(one, ast.Constant) and isinstance(one.value, str))
        for one in ast.walk(node)
    )


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """A copy of a node with other fields."""
    kept = {name: copy.deepcopy(value) for name, value in ast.iter_fields(node)} | fields
    return ast.copy_location(type(node)(**kept), node)
