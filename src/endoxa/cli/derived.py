"""Commands, made from the annotated signatures of the verbs (`endoxa.declared`) and of the functions that print.

    derived("study", verbs.study, print_study, needs=("pages",))

A parameter of the verb with a mark is an option or an argument. So are the marked parameters of the printer, because
the form of the output belongs to the command line; its first parameter is the result of the verb, and the others have
the name of a parameter of the verb and get the same value. `progress`, `command` and `report` of a verb are supplied.
Without a printer, the first function is the command: it calls several verbs, or prints while they work.
What was not typed is not passed on, so that a default is written once. The help is the first paragraph of the docstring
of the verb, and the lines under its `Examples:`.
"""

from __future__ import annotations

import inspect
import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from endoxa.cli import loudness, output
from endoxa.cli.root import Command
from endoxa.declared import Declared
from endoxa.errors import CallError
from endoxa.extras import need

WORDS = Declared(
    "Judgments (or another reference) and runs, told apart by content: TREC, BEIR (also its folder), MS MARCO, CSV, "
    "JSON, Parquet; - is standard input; a zip is a benchmark bundle. Anything that is not a file is read as a "
    "measure.",
    metavar="FILE… [MEASURE…]", many=True, role="argument",
)  # fmt: skip
SETTINGS = "settings"  # the keyword arguments of a verb that are settings of an evaluation
TYPES: dict[Any, tuple[str, Any]] = {
    int: ("N", click.INT), float: ("NUMBER", click.FLOAT), Path: ("PATH", click.Path(path_type=Path))
}  # fmt: skip
PLACES = ("FILE", "DIR", "PATH", "OUT", ".html", "CORPUS", "RUN")  # metavars that stand for files


class Parameter(NamedTuple):
    """A parameter of a verb or a printer: its name, type, mark and default (`inspect.Parameter.empty` for none)."""

    name: str
    kind: Any
    mark: Declared
    default: Any = inspect.Parameter.empty


NOTHING = inspect.Parameter.empty
UNMARKED = Declared()
INPUTS = ("run", "reference", "measures")  # roles whose values are told apart from the words


# ---- signatures ---------------------------------------------------------------------------------------


def parameters_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """All parameters of a function by name; those without a mark have the mark `Declared()`."""
    inner = inspect.unwrap(function)
    places = {**inner.__globals__, "Annotated": Annotated}
    code = inner.__code__
    positional = code.co_varnames[: code.co_argcount]
    names = (*positional, *code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    last = inner.__defaults__ or ()
    defaults = dict(zip(positional[len(positional) - len(last) :], last, strict=True)) | (inner.__kwdefaults__ or {})
    return {
        name: Parameter(name, *_marked(inner.__annotations__.get(name), places), defaults.get(name, NOTHING))
        for name in names
    }


def _marked(annotation: Any, places: dict[str, Any]) -> tuple[Any, Declared]:
    """Type and mark. A type that is known to the type checker only cannot be evaluated, and has no mark."""
    try:
        kind = eval(annotation, places) if isinstance(annotation, str) else annotation
    except NameError:
        return Any, UNMARKED
    if get_origin(kind) is Annotated:
        inner, *marks = get_args(kind)
        return inner, next((mark for mark in marks if isinstance(mark, Declared)), UNMARKED)
    return kind, UNMARKED


def settings_of(function: Callable[..., Any], quiet: Collection[str] = ()) -> dict[str, Parameter]:
    """The settings of an evaluation that a verb takes, if it takes any; those of the panels in `quiet` are hidden."""
    kind = str(inspect.unwrap(function).__annotations__.get(SETTINGS, ""))
    if not kind.startswith("Unpack["):
        return {}
    from dataclasses import fields

    from endoxa.cli.typed import PARSERS, SHORT
    from endoxa.evaluations.settings import POLICY, REGISTRY, Settings

    parameters = {}
    for one in fields(Settings):
        known, default = REGISTRY[one.name], one.default
        if not known.scoring and kind == "Unpack[Scoring]":
            continue
        usual = ",".join(f"{number:g}" for number in default) if isinstance(default, tuple) else str(default)
        mark = Declared(
            known.help + (f" ({usual})" if default not in {None, False} else ""), known.flags,
            "|".join(known.choices) or known.metavar, known.choices, panel=known.panel, many=one.name == "families",
            hidden=known.hidden or known.panel in quiet, parse=PARSERS.get(one.name), role="setting",
        )  # fmt: skip
        simple = next((kind for kind in (bool, int, float) if str(one.type).startswith(kind.__name__)), str)
        parameters[one.name] = Parameter(one.name, simple, mark, False if simple is bool else None)
    for name, (flag, text, _, _) in SHORT.items():
        mark = Declared(text, (flag,), panel=POLICY, hidden=True, role="setting")
        parameters[name] = Parameter(name, bool, mark, False)
    return parameters


# ---- options ------------------------------------------------------------------------------------------


class Option(click.Option):
    """An option with the panel under which the help lists it, and the default of the verb."""

    def __init__(self, *given: Any, panel: str = "", usual: str = "", **known: Any) -> None:
        super().__init__(*given, **known)
        self.panel, self.usual = panel, usual

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Add the default, which Click does not know: what is not typed is not passed on."""
        extra = super().get_help_extra(ctx)
        return {"default": self.usual} | extra if self.usual else extra


class Argument(click.Argument):
    """A positional argument with its help."""

    def __init__(self, *given: Any, text: str, **known: Any) -> None:
        super().__init__(*given, **known)
        self.panel, self.text = "", text

    def make_metavar(self, ctx: click.Context) -> str:
        """As it is written in the usage."""
        shown = self.metavar or self.name.upper()
        if self.required:
            return "{" + shown + "}" + ("..." if self.nargs != 1 else "")
        return f"[{shown}]" + ("..." if self.nargs != 1 else "")

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """As the help lists it, without the braces of the usage."""
        return f"'{self.metavar or self.name.upper()}'"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """The metavar and the help."""
        return self.metavar or self.name.upper(), self.text + ("  [required]" if self.required else "")


def parameter(one: Parameter) -> click.Parameter:
    """The option or argument of a parameter."""
    kind, many, nargs, choices = _type(one)
    mark = one.mark
    metavar = mark.metavar or "|".join(choices) or TYPES.get(kind, ("TEXT", None))[0]
    known: dict[str, Any] = {"metavar": metavar, "type": _click_type(kind, mark), "default": None, "nargs": nargs}
    required = one.default is NOTHING
    if required:  # Click takes a default of None for a value
        del known["default"]
    known["shell_complete"] = completion(
        choices, metavar, kind, measures="MEASURE" in metavar or mark.role == "measures"
    )
    if mark.role == "argument":
        known |= {"nargs": -1} if many else {}
        text = mark.help + (f"  [default: {usual}]" if (usual := _usual(one)) else "")
        return Argument([one.name], text=text, required=required, **known)
    flags = mark.flags or (f"--{'no-' if one.default is True else ''}{one.name.replace('_', '-')}",)
    known |= {"help": mark.help, "panel": mark.panel, "hidden": mark.hidden, "usual": _usual(one)}
    known |= {"envvar": mark.envvar, "show_envvar": True} if mark.envvar else {}
    if kind is bool:
        for name in ("metavar", "nargs", "type", "shell_complete"):
            del known[name]
        known |= {} if "/" in flags[0] else {"flag_value": one.default is not True}
        return Option([*flags, one.name], is_flag=True, **known)
    return Option([*flags, one.name], multiple=many, required=required, **known)


def _type(one: Parameter) -> tuple[Any, bool, int, tuple[str, ...]]:
    """The simple type of a parameter, whether it may be repeated, how many words it takes, the words it allows."""
    kinds = [part for part in _parts(one.kind) if part is not NoneType]
    many, nargs, choices = one.mark.many, 1, one.mark.choices
    flat: list[Any] = []
    for kind in kinds:
        origin, inner = get_origin(kind), get_args(kind)
        if origin is tuple and len(inner) == 2 and inner[1] is not Ellipsis and one.mark.parse is None:
            nargs = 2
            flat.append(inner[0])
        elif origin is not None and isinstance(origin, type) and issubclass(origin, Sequence):
            many = many or one.mark.parse is None
            flat += _parts(inner[0])
        else:
            flat.append(kind)
    for kind in flat:
        if get_origin(kind) is Literal:
            choices = choices or get_args(kind)
    simple = next((kind for kind in (bool, float, int, Path) if kind in flat and str not in flat), str)
    simple = str if one.mark.parse is not None else simple
    return simple, many, nargs, () if simple is bool else choices


def _parts(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)


def _click_type(kind: Any, mark: Declared) -> Any:
    if mark.least is not None or mark.most is not None:
        return click.IntRange(mark.least, mark.most) if kind is int else click.FloatRange(mark.least, mark.most)  # type: ignore[arg-type]
    return TYPES.get(kind, ("", click.STRING))[1]


def _usual(one: Parameter) -> str:
    """The default as the help shows it."""
    if one.mark.usual or any(one.default is plain for plain in (NOTHING, None, "", ())):
        return one.mark.usual
    if isinstance(one.default, bool):
        names = "".join(one.mark.flags).split("/")
        return names[not one.default].lstrip("-") if len(names) == 2 else ""
    if isinstance(one.default, tuple | list):
        return ("," if one.mark.parse else ", ").join(map(str, one.default))
    return str(one.default)


# ---- completion ---------------------------------------------------------------------------------------


def completion(choices: Sequence[str], metavar: str, kind: Any, *, measures: bool) -> Callable[..., Any]:
    """What a shell offers for a parameter: the words it allows, measures, files."""

    def offered(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        words = choices or [word for word in metavar.split("|") if word.islower()]
        names = [word for word in words if word.startswith(incomplete)]
        if choices:
            return [CompletionItem(word) for word in names]
        names += _measures(incomplete) if measures else []
        is_place = kind is Path or any(place in metavar for place in PLACES)
        if names:  # a shell adds no files of its own to words
            return [CompletionItem(word) for word in (*names, *(_files(incomplete) if is_place else ()))]
        return [CompletionItem(incomplete, type="file")] if is_place else []

    return offered


def _measures(incomplete: str) -> list[str]:
    from endoxa.measures.grammar import KNOWN

    return [name for name in KNOWN if incomplete and name.startswith(incomplete)]


def _files(incomplete: str) -> Iterable[str]:
    folder, begun = os.path.split(incomplete)
    try:
        entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    return [
        os.path.join(folder, entry.name) + ("/" if entry.is_dir() else "")  # noqa: PTH118
        for entry in entries
        if entry.name.startswith(begun)
    ]


# ---- commands -----------------------------------------------------------------------------------------


class Derived(NamedTuple):
    """A command that is made from a verb when it is called; see `derived`."""

    name: str
    verb: Callable[..., Any]
    printer: Callable[..., None] | None = None
    needs: tuple[str, ...] | Callable[[dict[str, Any]], tuple[str, ...]] = ()
    before: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None
    during: Callable[[dict[str, Any]], AbstractContextManager[Any]] | None = None
    defaults: Mapping[str, Any] = MappingProxyType({})
    quiet: tuple[str, ...] = ()
    says: str = ""
    more: str = ""
    words: Declared = WORDS
    strict: bool = False

    @property
    def first(self) -> str:
        """The first paragraph of the help."""
        return self.says or " ".join((self.verb.__doc__ or "").strip().split("\n\n", 1)[0].split())

    @property
    def help(self) -> str:
        """The whole text of the help."""
        text, _, under = f"{inspect.cleandoc(self.verb.__doc__ or '')}\n".partition("\nExamples:\n")
        own = text.strip() if self.printer is None else self.first  # what follows is about Python
        examples = takewhile(lambda line: not line or line.startswith(" "), under.splitlines())
        lines = [f"  {line.strip()}" for line in examples if line]
        return "\n\n".join(filter(None, [own, self.more, *(["Examples", *lines] if lines else [])]))

    def marked(self) -> dict[str, Parameter]:
        """The parameters of verb and printer that have a mark."""
        every = {**parameters_of(self.verb), **_own(self.printed())}
        return {name: one._replace(default=self.defaults.get(name, one.default)) for name, one in _own(every).items()}

    def printed(self) -> dict[str, Parameter]:
        """All parameters of the printer but the result."""
        return {} if self.printer is None else dict([*parameters_of(self.printer).items()][1:])

    def command(self) -> Command:
        """The command of Click."""
        marked = self.marked()
        params: list[click.Parameter] = []
        if any(one.mark.role == "run" for one in marked.values()):
            required = NOTHING if self.words.least else None
            params.append(parameter(Parameter("words", str, self.words._replace(least=None), required)))
        for one in sorted(marked.values(), key=_place):  # what is typed as a run is one of the runs
            role = one.mark.role
            params.append(parameter(one._replace(name=role, kind=str, default=None) if role in INPUTS else one))
        own = {flag for one in params for flag in one.opts}  # `compare --power` is no exponent
        params += [parameter(one) for one in settings_of(self.verb, self.quiet).values() if not own & {*one.mark.flags}]
        taken = {flag for one in params for flag in one.opts}
        params += [
            Option([*(flag for flag in flags if flag not in taken), name], is_flag=True, help=loudness.HELP[name],
                   panel=loudness.PANEL)
            for name, flags in loudness.FLAGS.items()
        ]  # fmt: skip
        return Command(self.name, callback=self.run, params=params, help=self.help)

    def run(self, verbose: bool, quiet: bool, **typed: Any) -> None:
        """Call the verb with what was typed, and print its result."""
        if verbose or quiet:
            loudness.set_level(verbose=verbose or loudness.is_full(), quiet=quiet or loudness.is_quiet())
        if needs := self.needs(typed) if callable(self.needs) else self.needs:
            need(*needs)
        from endoxa.cli.typed import at_call

        own, printed, marked = parameters_of(self.verb), self.printed(), self.marked()
        settings = _long(_given(settings_of(self.verb), typed))  # before files are opened: it may refuse
        values = dict(self.defaults) | _inputs(marked, typed) | _given(marked, typed) | settings
        form = next((one for one in marked.values() if one.mark.role == "form"), None)
        if form is not None:
            asked = values.get(form.name, form.default)
            values[form.name] = output.need_form(asked, values.get("to"), form.mark.choices)
        if self.before is not None:
            values = self.before(values) or values
        known = {*own, *settings_of(self.verb)}
        call = {name: value for name, value in values.items() if name in known}
        supplied = {"command": command_line(), "report": output.skipped}
        call |= {name: value for name, value in supplied.items() if name in own and own[name].mark is UNMARKED}
        with self.during(values) if self.during else _bar(values) if "progress" in own else nullcontext() as progress:
            call |= {"progress": progress} if "progress" in own else {}
            result = at_call(lambda: self.verb(**call)) if self.strict else self.verb(**call)
        if self.printer is not None:
            whole = {name: one.default for name, one in own.items() if one.default is not NOTHING} | values
            self.printer(result, **{name: whole[name] for name in printed if name in whole})


def derived(name: str, verb: Callable[..., Any], printer: Callable[..., None] | None = None, **known: Any) -> Derived:
    """A command `name` that calls `verb` and gives what it returns to `printer`, if there is one.

    needs      extras that must be installed; or a function that names them, which gets what was typed
    before     gets the values that the verb and the printer are called with, before any work; refuses them by a
               CallError, or returns others
    during     gets the same values; the context of the work, which yields its progress: `stages(2)`
    defaults   defaults that differ from those of the verb
    quiet      panels of settings that the help does not list
    says       the first paragraph of the help, where the docstring of the verb says what is returned
    more       a further paragraph of the help
    words      what the help says of the files and measures, if it is not `WORDS`; `least` 1 requires one
    strict     what is wrong in a text is the fault of the call (exit code 2), not of an input
    """
    return Derived(name, verb, printer, **known)


def stages(total: int) -> Callable[[dict[str, Any]], AbstractContextManager[Any]]:
    """The progress of work in several stages."""
    return lambda _: output.stages(total)


def command_line() -> str:
    """The command as it was typed, for the provenance of a result."""
    return shlex.join(["endoxa", *sys.argv[1:]])


def _bar(values: dict[str, Any]) -> AbstractContextManager[Any]:
    """A bar over the runs."""
    return output.progress_bar(max(len(values.get("run") or ()), 2))


def _place(one: Parameter) -> int:
    """Measures come first among the options of a command, files that are named by an option last."""
    return {"measures": -1, "reference": 1, "run": 2}.get(one.mark.role, 0)


def _own(parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
    return {name: one for name, one in parameters.items() if one.mark is not UNMARKED}


def _inputs(marked: Mapping[str, Parameter], typed: dict[str, Any]) -> dict[str, Any]:
    """The words, told apart, by the names of the parameters that take runs, the reference and measures."""
    names: dict[str, str] = {one.mark.role: name for name, one in marked.items()}
    if "run" not in names:
        return {}
    from endoxa.cli.typed import texts_of, told_apart

    words, measures, runs = (list(typed.get(name) or ()) for name in ("words", "measures", "run"))
    texts = typed.get("tokens") is not None  # the words are texts that systems extracted
    inputs = texts_of(words, measures) if texts else told_apart(words, measures, typed.get("reference"), runs)
    values = {"run": inputs.runs, "reference": inputs.reference, "measures": inputs.measures}
    return {names.get(role, role): value for role, value in values.items() if value or role == "run"}


def _given(known: Mapping[str, Parameter], typed: dict[str, Any]) -> dict[str, Any]:
    """What was typed, parsed, by the name of the parameter."""
    values: dict[str, Any] = {}
    for name, one in known.items():
        value = None if one.mark.role in INPUTS else typed.get(name)
        if value is None or value == ():
            continue
        _kind, many, _nargs, choices = _type(one)
        value = list(value) if many else value
        if choices and one.mark.role in {"option", "argument"}:
            words: list[Any] = value if many else [value]
            for word in words:
                one_of((one.mark.flags or (f"--{name.replace('_', '-')}",))[0], word, choices)
        values[name] = value if one.mark.parse is None else one.mark.parse(value)
    return values


def _long(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, with those that were typed in short (-c, -J) by their names."""
    from endoxa.cli.typed import SHORT

    short = {name: value for flag, (_, _, name, value) in SHORT.items() if settings.pop(flag, False)}
    if "on" in settings:
        need("spark")
    return settings | short


def one_of(flag: str, value: str, known: Iterable[str]) -> None:
    """Refuse a word that is none of these."""
    if value not in known:
        raise CallError(f"{flag} is one of {', '.join(known)}, not {value!r}")
