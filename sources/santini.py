"""Santini: categories in doubt, distributions of precision and recall, individual comparisons.

The paper prints formulas and one example whose figures are missing in our copy. The numbers are worked by us, on the
same small data as in docs/errata.md, with the printed formulas beside the right ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy import stats

import endoxa
from endoxa.beliefs import categories
from endoxa.comparisons import superiority
from endoxa.measures import displacement as displaced
from endoxa.measures.distributions import Distribution, mixture, precision, recall
from endoxa.reports.figures import style
from endoxa.tables import Answers, Labels, Taxonomy
from sources.records import Drawing, Record, Source, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SANTINI = Source("santini", "Santini", "S. Santini, Benchmarking Without Ground Truth")

BELOW = {"all": ("people", "outdoor"), "people": ("crowd", "portrait"), "outdoor": ("city", "landscape")}
GRAPH = {**BELOW, "city": ("crowd",)}
LABELLED = {
    "q": "people people crowd city city",
    "r1": "people portrait crowd city people",
    "r2": "city city crowd city landscape",
    "r3": "portrait people people people city",
}
FOUND, REST = np.array([0.9, 0.6, 0.8, 0.2]), np.array([0.5, 0.1, 0.3, 0.0])


def tree_of(below: Mapping[str, Sequence[str]]) -> Taxonomy:
    """A taxonomy from the children of each category."""
    edges = [("all", None), *((child, parent) for parent, children in below.items() for child in children)]
    return Taxonomy.of(pl.DataFrame(edges, schema=["category", "parent"], orient="row"))


@cache
def labels() -> Labels:
    """Five people file four images; those of q are the ones that the paper gives for its Figure 1."""
    rows = [(f"s{at}", item, name) for item, names in LABELLED.items() for at, name in enumerate(names.split())]
    return Labels.of(pl.DataFrame(rows, schema=["source", "item", "category"], orient="row"))


@cache
def rolled() -> categories.RollUp:
    """The shares of people in every category of our tree."""
    return categories.roll_up(labels(), tree_of(BELOW))


def shares(rolled_up: categories.RollUp, item: str = "q") -> tuple[dict[str, float], dict[str, float]]:
    """Direct and rolled shares of an item by category."""
    at = rolled_up.items.index(item)
    return tuple(  # type: ignore[return-value]
        dict(zip(rolled_up.categories, part[:, at].tolist(), strict=True))
        for part in (rolled_up.direct, rolled_up.rolled)
    )


def example_tables(found: Any) -> Sequence[Table]:
    """Probabilities of the image on our tree, and the same experiment with ten people on open drawings."""
    direct, whole = shares(rolled())
    tree = pl.DataFrame(tree_of(BELOW).frame)
    counts = dict(endoxa.categories(labels(), tree).of("q").select("category", "filed").iter_rows())
    rows = {name: [round(counts[name]), direct[name], whole[name]] for name in rolled().categories}
    heads = ("network", "expected precision", "its sd, mean", "by the makers' labels")
    caption = (
        f"{found['people']} people file {found['pictures']} open drawings in {found['categories']} categories: "
        "precision of what five networks file there, mean over the categories"
    )
    networks = {name: values for name, *values in found["rows"]}
    return [
        Table.of(
            "Probabilities of the image of Figure 1, on our tree (endoxa categories)",
            ("category", "people", "filed here", "here or below"),
            rows,
        ),
        Table.of(caption, heads, networks, 3),
    ]


def example_sentence(found: Any) -> str:
    """The shares follow from the text; the rest is on other data."""
    gaps = [abs(by_people - by_label) for _, by_people, _, by_label in found["rows"]]
    return (
        "The shares of the image follow from the text (0.4, 0.2, 0.4); the tree and the printed probabilities are "
        f"missing in our copy (A-E6). On open drawings all {found['people']} people agree on {found['unanimous']:.0%} "
        f"of the pictures, and the precision that they expect of five networks is within {max(gaps):.2f} of that by "
        "the makers' labels."
    )


def set_measures(_: Any) -> Sequence[Table]:
    """Four retrieved, three relevant, two of them retrieved, of 100: as printed, and right."""
    run = {"q": {name: -float(at) for at, name in enumerate("abcd")}}
    qrels = {"q": {"a": 1, "b": 1, "c": 0, "d": 0, "e": 1}}
    names = ["SetR", "SetP", "Fallout(N=100)@4"]
    found = endoxa.measure(run, qrels, names).to_dict()["run"]["q"]
    a, v = set("abcd"), set("abe")
    rows = {
        "recall": ["|A ∪ V| / |V|", len(a | v) / len(v), "|A ∩ V| / |V|", found["SetR"]],
        "precision": ["|A ∩ R| / |A|, R for V", found["SetP"], "|A ∩ V| / |A|", found["SetP"]],
        "specificity": ["“almost the same” as precision", found["SetP"], "1 − fallout", 1 - found["Fallout(N=100)@4"]],
    }
    return [
        Table.of(
            "A = {a, b, c, d}, V = {a, b, e}, 100 items", ("", "printed", "printed gives", "right", "right gives"), rows
        )
    ]


def roll_up_tables(_: Any) -> Sequence[Table]:
    """Eq. 8 as printed and right, in a tree and in a graph with two parents of one category."""
    direct, whole = shares(rolled())
    _, graph = shares(categories.roll_up(labels(), tree_of(GRAPH)))

    def one_level(name: str) -> float:
        return direct[name] + sum(direct[child] for child in BELOW.get(name, ()))

    def added_up(name: str) -> float:
        return direct[name] + sum(added_up(child) for child in GRAPH.get(name, ()))

    rows = {name: [one_level(name), whole[name], added_up(name), graph[name]] for name in rolled().categories}
    heads = ("category", "eq. 8 as printed, tree", "right, tree", "children added up, graph", "right, graph")
    return [Table.of("Probabilities of the image; in the graph crowd is also below city", heads, rows, 4)]


def sizes(_: Any) -> Sequence[Table]:
    """The size of every category: its expectation, which eq. 9 calls the size, and its variance."""
    rows = {name: [size, variance] for name, size, variance in categories.size(rolled()).iter_rows()}
    return [
        Table.of("Size of a category over the four images", ("category", "eq. 9: expected size", "variance"), rows, 4)
    ]


def masses(named: Mapping[str, Distribution], caption: str) -> Table:
    """Distributions as a table: values and probabilities."""
    values = sorted({round(float(value), 6) for one in named.values() for value in one.values})
    rows = {}
    for name, one in named.items():
        mass = {round(float(value), 6): float(p) for value, p in zip(one.values, one.mass, strict=True)}
        rows[name] = [*(mass.get(value, 0.0) for value in values), one.total]
    return Table.of(caption, ("", *(f"{value:.3g}" for value in values), "sum"), rows)


def bars(named: Mapping[str, Distribution], across: str, *, width: float = 7.0) -> Figure:
    """Distributions as needles, one panel below the other, with the mean of each as a dashed line."""
    with style.styled():
        from matplotlib.figure import Figure

        count, tall, left = len(named), 1.5, 0.65
        gap = 0.8 if width < style.NARROW else 0.6  # of a title and the labels below the panel before it
        height = count * (tall + gap) + 0.3
        figure = Figure(figsize=(width, height))
        top = max(float(one.mass.max()) for one in named.values()) * 1.12
        last = max(1.0, *(float(one.values.max()) for one in named.values()))
        for place, (name, one) in enumerate(named.items()):
            bottom = height - (place + 1) * (tall + gap) + 0.25
            axes = figure.add_axes((left / width, bottom / height, (width - left - 0.2) / width, tall / height))
            color, marker, _ = style.SERIES[place % len(style.SERIES)]
            axes.vlines(one.values, 0, one.mass, color=color, linewidth=2)
            axes.plot(one.values, one.mass, marker, color=color, markersize=5)
            axes.axvline(one.mean, color=style.MUTED, linestyle=(0, (4, 3)), linewidth=1.2)
            axes.set_xlim(-0.04, last + 0.04)
            axes.set_ylim(0, top)
            axes.set_ylabel("probability")
            between = "\n" if width < style.NARROW else ": "
            axes.set_title(f"{name}{between}sum {one.total:.3g}, mean {one.mean:.3f}", fontsize=9.5, loc="left")
            if place == count - 1:
                axes.set_xlabel(across)
        return figure


def drawing(named: Mapping[str, Distribution], across: str, caption: str) -> list[Drawing]:
    """A figure of distributions with its numbers."""
    return [Drawing(partial(bars, named, across), across, caption, f"{caption}.", masses(named, caption))]


def precisions() -> dict[str, Distribution]:
    """Eq. 11 as printed and right, for four results."""
    return {"right": precision(FOUND), "eq. 11 as printed": precision(FOUND, mode="as_printed")}


def recalls() -> dict[str, Distribution]:
    """Eq. 12 and the right recall, for the same results among eight images."""
    return {
        "right: both counts random": recall(FOUND, REST),
        "expected size, as eq. 12": recall(FOUND, REST, size="expected"),
    }


def mixed() -> dict[str, Distribution]:
    """Eq. 13 as printed and right, for the results r1, r2, r3 of the query q."""
    found = {}
    for name, mix, mode in (
        ("right: categories filed", "assigned", "pmf"),
        ("eq. 13 as printed", "as_printed", "as_printed"),
    ):
        names, weights = categories.mixture_weights(rolled(), "q", mix)  # type: ignore[arg-type]
        parts = [precision(rolled().rolled[rolled().categories.index(one), 1:], mode=mode) for one in names]  # type: ignore[arg-type]
        found[name] = mixture(parts, weights, as_printed=mode == "as_printed")
    return found


def kept_together(_: Any) -> Sequence[Table]:
    """Mean precision if the labels of a person are kept together, and if not."""
    run = {"q": {"r1": 3, "r2": 2, "r3": 1}}
    rows = {}
    for mix, name in (
        ("assigned", "each image by the shares of all people"),
        ("subject", "each person's labels kept together"),
    ):
        belief = categories.believe(labels(), tree_of(BELOW), queries=["q"], mix=mix)  # type: ignore[arg-type]
        rows[name] = [endoxa.distribution(run, belief, "P@3", "run", "q").mean]
    return [Table.of("Mean precision of r1, r2, r3", ("", "mean"), rows)]


def comparison(_: Any) -> Sequence[Table]:
    """Two systems that share two results: the same truth for both, and as if independent."""
    a, both, b = np.array([0.9, 0.6]), np.array([0.8, 0.2]), np.array([0.5, 0.1])
    one, other = precision(np.concatenate([a, both])), precision(np.concatenate([both, b]))
    rows = {}
    for name, found in (
        ("same truth for both", superiority.precision_order(both, a, b)),
        ("as if independent", superiority.independent(one, other)),
    ):
        rows[name] = [found.p_better, found.p_tie, found.p_worse, found.difference, found.sd]
    table = Table.of(
        "Systems abcd and cdef, p = .9 .6 .8 .2 .5 .1",
        ("", "P(better)", "P(equal)", "P(worse)", "difference", "sd"),
        rows,
    )
    distance = superiority.ks_distance(one, other)
    tests = {f"{n} draws": [f"{stats.kstwobign.sf(distance * np.sqrt(n / 2)):.1g}"] for n in (10, 100)}
    caption = f"Kolmogorov–Smirnov distance {distance:.4f}: its p depends on a sample size that does not exist"
    return [table, Table.of(caption, ("", "p"), tests)]


def full_lists(_: Any) -> Sequence[Table]:
    """Weighted displacement of whole lists: eq. 17 as printed and right, and the qualities of eq. 18."""
    ideal, relevance = np.array([2, 3, 1]), np.array([1.0, 0.5, 0.0])
    as_printed = float(relevance @ np.abs(np.arange(1, 4) - ideal))
    right = float(displaced.displacement(relevance, np.argsort(ideal) + 1, returned=3, N=3))
    s, ranks = np.array([1.0, 0.8, 0.6, 0.4, 0.2]), np.array([2, 1, 5, 3, 4])
    w = displaced.displacement(s, ranks, returned=5, N=5)
    chance = displaced.chance_displacement(s, 5)
    rows: dict[str, list[Any]] = {
        "weighted displacement w": [float(w)],
        "by chance": [float(chance)],
        "1 − w / by chance": [float(displaced.chance_corrected(w, chance))],
        "1/(1 + w)": [float(displaced.rational(w))],
        "1/(1 + w)²": [float(displaced.rational(w, 2.0))],
        "exp(−w/10)": [float(displaced.exponential(w, 0.1))],
    }
    return [
        Table.of("π = (2, 3, 1), s = (1, .5, 0)", ("", "eq. 17 as printed", "right"), {"w": [as_printed, right]}, 2),
        Table.of("A subject's list of five and a system's order 2, 1, 4, 5, 3", ("", "ours"), rows),
    ]


def partial_lists(_: Any) -> Sequence[Table]:
    """A subject's list a to e, a system's list b, x, a, y, d, in a collection of 100."""
    s, places, missing = np.array([1.0, 0.9, 0.7, 0.5, 0.3]), np.array([3, 1, 0, 5, 0]), [3, 5]
    returned = float((s * np.abs(np.arange(1, 6) - places))[places > 0].sum())
    literal = returned + float(sum(s[i - 1] * abs(beta - (5 + i)) for i, beta in enumerate(missing, 1)))
    rules = {
        "optimist, eq. 22": "optimist", "pessimist as printed, eq. 23": "printed",
        "as the text says: at the end": "tail", "the worst case": "worst", "in random order (ours)": "uniform",
    }  # fmt: skip
    rows: dict[str, list[Any]] = {"eq. 22 with the printed index": [literal]}
    for name, rule in rules.items():
        rows[name] = [float(displaced.displacement(s, places, returned=5, N=100, rule=rule))]  # type: ignore[arg-type]
    return [Table.of("Total displacement", ("", "w"), rows, 4)]


def individual(_: Any) -> Sequence[Table]:
    """Two subjects and a system that lacks an item: every discrepancy, then the mean; and the subjects as systems."""
    rows = [("ann", "x", 1, 1.0), ("ann", "y", 2, 0.9), ("ann", "z", 3, 0.7)]
    rows += [("bob", "y", 1, 1.0), ("bob", "x", 2, 0.5)]
    frame = pl.DataFrame(rows, schema=["source", "item", "rank", "relevance"], orient="row")
    answers = Answers.of(frame.with_columns(pl.lit("q").alias("query")))
    run = {"A": {"q": {item: -float(at) for at, item in enumerate("ykxlm")}}}
    settings: dict[str, Any] = {"collection": 100, "rule": "optimist", "scale": "raw", "subjects_as_systems": True}
    found = endoxa.evaluate(run, answers, **settings)
    single = found.tables["single"].select("source", "system", "w_A", "w_B", "displacement", "quality")
    table = {f"{source}, {system}": [*values] for source, system, *values in single.iter_rows()}
    means = found.tables["by_query"].select("w", "w_sd", "quality", "quality_sd").row(0)
    return [
        Table.of("Each subject against each list", ("subject, list", "w^A", "w^B", "w", "1/(1 + w)"), table, 4),
        Table.of(
            "Only then the mean over subjects", ("system", "w", "its sd", "1/(1 + w)", "its sd"), {"A": [*means]}, 4
        ),
    ]


def readings(_: Any) -> Sequence[Table]:
    """P@1 of one list under the three readings of a query, from the filings of two images."""
    filed = {"a": LABELLED["q"], "b": "city city city city city"}
    rows = [(f"s{at}", item, name) for item, names in filed.items() for at, name in enumerate(names.split())]
    both = Labels.of(pl.DataFrame(rows, schema=["source", "item", "category"], orient="row"))
    tree = tree_of({"all": ("people", "outdoor"), "people": ("crowd",), "outdoor": ("city",)})
    table = {}
    for mix, name in (
        ("assigned", "where the image was filed"), ("normalised", "eq. 13, its weights divided by 2.6"),
        ("normalised_no_root", "eq. 13 without the root, divided by 1.6"),
    ):  # fmt: skip
        found = endoxa.evaluate({"A": {"a": {"b": 1.0}}}, both, ["P@1"], taxonomy=tree, mix=mix)  # type: ignore[arg-type]
        table[f"--mix {mix}"] = [name, found.summary["value"].item()]
    return [Table.of("Precision of the list b for the image a", ("", "readings", "P@1"), table, 4)]


RECORDS = (
    Record(
        SANTINI, "equations 1-2", "Recall and precision by a strong ground truth", "section 3, eqs. 1 and 2",
        "Eq. 1 is wrong in print (a union for an intersection, A-E1), eq. 2 uses another letter for the relevant set "
        "(A-E2), and specificity is not “almost the same” as precision (A-E3).",
        tables=set_measures,
    ),
    Record(
        SANTINI, "diagrams 3-4", "Two schemes of evaluation", "section 3, numbered (3) and (4)",
        "Both schemes are what Endoxa does: (3) is `endoxa eval FILING TREE RUNS --mix assigned`, a system against the "
        "categories of many people; (4) is `endoxa eval ANSWERS RUNS -q`, a system against each person's own answer.",
        lost="The diagrams are missing in our copy; the text describes them, and they have no numbers.",
    ),
    Record(
        SANTINI, "Figure 1", "One of the images used for categorisation", "section 4",
        "A photograph, with nothing to compare.", lost="The photograph is missing in our copy.",
    ),
    Record(
        SANTINI, "example", "Twenty images filed by five people; taxonomy and probabilities",
        "section 4, last paragraphs",
        example_sentence,
        printed=Table.read(
            "How many of five people filed the image of Figure 1 where, as printed in words",
            """
            category | people
            people   | 2
            crowd    | 1
            city     | 2
            """,
        ),
        study="drawings", tables=example_tables,
        lost="The drawing of the taxonomy and the table of probabilities are missing in our copy (A-E6); the tree is "
        "ours.",
    ),
    Record(
        SANTINI, "equations 5-8", "Probabilities of categories in a tree", "section 4, eqs. 5 to 8",
        "Eq. 8 adds only the children's own labels, so that the root has probability 0.4, not one as the text says "
        "(A-E4); in a graph, adding up children counts a person twice (A-E5).",
        tables=roll_up_tables,
    ),
    Record(
        SANTINI, "equation 9", "The size of a category", "section 4, eq. 9",
        "Eq. 9 is right as an expectation, but it is called the size, which is random too (A-E7).", tables=sizes,
    ),
    Record(
        SANTINI, "equations 10-11", "The distribution of precision", "section 4, eqs. 10 and 11",
        "Eq. 10 is right and is ours; eq. 11 divides the probabilities by n, so that they sum to 1/n (A-E8).",
        drawings=lambda _: drawing(precisions(), "precision", "Precision of four results with p = .9, .6, .8, .2"),
    ),
    Record(
        SANTINI, "equation 12", "The distribution of recall", "section 4, eq. 12",
        "Eq. 12 has the same fault (A-E9) and divides by an expected size, so that its recall can exceed 1 (A-E10); "
        "with both counts random it cannot.",
        drawings=lambda _: drawing(recalls(), "recall", "Recall of the same four; p = .5, .1, .3, 0 not retrieved"),
    ),
    Record(
        SANTINI, "equations 13-14", "Queries of several categories", "section 4, eqs. 13 and 14",
        "As printed the categories weigh 2.6 in all (A-E11) and the root makes every list perfect (A-E12); over the "
        "categories that people filed the query in, the probabilities sum to 1. Recalls of different categories have "
        "different steps (A-E13).",
        tables=lambda found: [*kept_together(found), *readings(found)],
        drawings=lambda _: drawing(mixed(), "precision", "Precision of r1, r2, r3 for a query of several categories"),
    ),
    Record(
        SANTINI, "comparison", "Comparing distributions of two systems", "section 4, after eq. 14",
        "“The standard statistical methods used to compare distributions” do not apply, because the distributions "
        "are known, not sampled (A-E14); what can be said is how probably one system is better.",
        tables=comparison,
    ),
    Record(
        SANTINI, "equations 15-18", "Weighted displacement of whole lists", "section 5, eqs. 15 to 18",
        "Eq. 17 weights the displacement of one image by the relevance of another (A-E15); ours is 2.5 where it "
        "gives 1.5. The two qualities after eq. 18 are ours too.",
        tables=full_lists,
    ),
    Record(
        SANTINI, "equations 19-23", "Weighted displacement of partial lists", "section 5, eqs. 19 to 23",
        "The optimist hypothesis is ours with the index of eq. 22 put right (A-E16, A-E18); eq. 23 charges more than "
        "any position costs and is not what the text describes (A-E17).",
        tables=partial_lists,
    ),
    Record(
        SANTINI, "individual comparisons", "Each subject's discrepancy before any mean",
        "section 3 after (4), section 5",
        "`endoxa eval ANSWERS RUNS -q` prints each subject's w^A, w^B, w and quality, and only then their mean, as the "
        "text asks; a subject's own list can be scored by all others (`--subjects-as-systems`), which shows how much "
        "of the discrepancy is among people.",
        tables=individual,
    ),
)  # fmt: skip
