"""Which words of a corpus are visual: V of every word (`seeing`), and older measures for comparison.

Beside V stand excess and entropy of regions (five base mixtures turn regions into shares of components, `profiles`;
random words say what chance gives, `word_nulls`) and Hessel's concreteness.
Source: docs/methods/words.md, Visualness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from endoxa.engines import Material
from endoxa.engines.region_mixtures import projection
from endoxa.errors import JoinError, TextError, did_you_mean, refuse_unknown
from endoxa.formatting import counted, listed
from endoxa.frozen import dataclass
from endoxa.images.features import NAMES
from endoxa.images.filters import DIFFERENCE_NAMES
from endoxa.progress import Progress
from endoxa.statistics import mixtures
from endoxa.statistics.mixtures import MixtureModel, Rules
from endoxa.statistics.multiplicity import benjamini_hochberg
from endoxa.tables import Floats, Ints
from endoxa.words.concreteness import NEIGHBOURS, concreteness, neighbours_of
from endoxa.words.profiles import Contrast, Has, Profiles, contrasts, entropy_of, mean_entropy, mean_excess
from endoxa.words.region_entropy import region_entropy, select
from endoxa.words.seeing import COMPANY, ONE_TOPIC, VISUAL, Seen, calls, seen, spread_of
from endoxa.words.topics import Topics
from endoxa.words.views import Views
from endoxa.words.word_nulls import DRAWS, Null, against, picture_null, topic_null

NullOf = Literal["topics", "pictures"]
GROUPS = ("base", "rgb", "texture")  # of the features; of texture, the four differences of Gaussians
FITTED = 50_000  # regions that base mixtures are learnt from
REGIONS_PER_COMPONENT = 8
FEWEST, MOST = 20, 250  # components
ROWS_PER_COMPONENT = 10
TYPICAL = 12  # regions of a word that are shown
SURE = 1.64  # spreads of V on either side: 90 %
NAMED = 5
RULES = Rules(iterations=30, tolerance=1e-4)
SCHEMA: dict[str, Any] = {
    "word": pl.String, "n": pl.Int64, "topics": pl.Int64, "V": pl.Float64, "half": pl.Float64, "A": pl.Float64,
    "B": pl.Float64, "D": pl.Float64, "own": pl.Float64, "call": pl.String, "company": pl.String,
    "left_out": pl.String, "z": pl.Float64, "p": pl.Float64, "q": pl.Float64, "excess": pl.Float64,
    "excess_z": pl.Float64, "E": pl.Float64, "E_z": pl.Float64, "hessel": pl.Float64, "norm": pl.Float64,
    "selected_E": pl.Float64, "selected_z": pl.Float64, "selected_share": pl.Float64, "selected_regions": pl.Float64,
}  # fmt: skip


@dataclass(frozen=True)
class Looking:
    """How visualness is measured.

    least, most  words on fewer pictures, or on a larger share of all pictures, are left out
    components   of each base mixture; 0: one for 8 regions of the median word, 20 to 250
    mixtures     base mixtures, whose values are averaged
    null         topics: a word must hold across topics. V leaves out a topic at a time, and random words take the
                 word's counts to random topics. pictures: both by single pictures; so without four topics
    draws        shuffles of pictures, and random words, for each word
    iterated     also select regions by the iteration of the source (slow)
    """

    least: int = 20
    most: float = 0.5
    components: int = 0
    mixtures: int = 5
    null: NullOf = "topics"
    draws: int = DRAWS
    iterated: bool = False

    def __post_init__(self) -> None:
        refuse_unknown("null", self.null, get_args(NullOf), listed=True)
        for name, least in (("least", 2), ("components", 0), ("mixtures", 1), ("draws", 19)):
            if getattr(self, name) < least:
                raise TextError(f"{name} is {getattr(self, name)}", remedy=f"expected at least {least}")
        if not 0 < self.most < 1:
            raise TextError(f"most is {self.most:g}", remedy="expected a share of the pictures between 0 and 1")


@dataclass(frozen=True)
class Typical:
    """A region that shows a word: its picture, its number there (the largest region is 0), and P(word|region)."""

    item: str
    region: int
    chance: float


@dataclass(frozen=True, eq=False)
class Visualness:
    """What was found.

    frame         a row per word, by V; words of one topic come last, because they cannot be compared with the others.
                  half = 1.64 · .55/√n; A, B, D, own and call as in `seeing`; company: the words that predict it most;
                  left_out: a topic or a picture at a time; z, p and q (Benjamini and Hochberg) of V on shuffled
                  pictures. excess, E and hessel are older measures
    look          vectors or histograms: what the view of looks is made of
    null          topics or pictures: what random words are
    typical       of each word, the regions with the highest P(word|region)
    correlations  with ratings by people, where there are some (`norm_ranks.correlations`)
    pictures, regions, components, topics  how many there were; topics is 0 where they were not used
    notes         what was left out, and why
    """

    frame: pl.DataFrame
    look: Literal["vectors", "histograms"]
    null: NullOf
    typical: Mapping[str, Sequence[Typical]]
    pictures: int
    regions: int
    components: int
    topics: int
    notes: tuple[str, ...] = ()
    correlations: pl.DataFrame | None = field(default=None)

    @property
    def visual(self) -> list[str]:
        """The words that are called visual, by V."""
        return self.frame.filter(pl.col("call") == VISUAL)["word"].to_list()


def visualness(
    material: Material, views: Views, topics: Topics | None = None, words: Sequence[str] | None = None, *,
    looking: Looking | None = None, seed: int = 0, progress: Progress | None = None,
) -> Visualness:  # fmt: skip
    """The visualness of the words of pictures whose regions have the columns `base`, `rgb` and `texture`.

    views  what V and Hessel's concreteness see of the same pictures
    words  those to be measured; None: all that are on enough pictures and not on too many
    """
    looking = looking or Looking()
    material, views, topics, notes = _with_regions(material, views, topics)
    words, usual, left_out = vocabulary(material.words, words, looking)
    has, every = _has(material.words, words), _has(material.words, usual)
    rows = whitened(material)
    components = _components(every, material.counts, len(rows), looking)
    models = base_mixtures(rows, components, looking.mixtures, seed=seed, progress=progress)
    profiles = profiles_of(models, rows, material.counts)
    found = contrasts(profiles, has)
    kind, null, why = _chance(profiles, has, topics, words, looking, seed, progress)
    held = topics if kind == "topics" else None
    looked = seen(
        views, every, [usual.index(word) for word in words], None if held is None else held.of, draws=looking.draws,
        seed=seed, progress=progress,
    )  # fmt: skip
    columns = _sight(looked, has.sum(axis=1), usual) | _older(found, null, has, views) | {
        "word": list(words), "n": has.sum(axis=1),
        "topics": [None] * len(has) if topics is None else [len(np.unique(topics.of[row])) for row in has],
    }  # fmt: skip
    if looking.iterated:
        columns |= _iterated(models, rows, material.counts, has, looking, seed, progress)
    empty = {name: np.full(len(words), np.nan) for name in SCHEMA if name not in columns}
    frame = pl.DataFrame(columns | empty, schema_overrides=SCHEMA).select(list(SCHEMA))
    frame = frame.sort(pl.col("call") == ONE_TOPIC, -pl.col("V").fill_nan(-np.inf), "word", maintain_order=True)
    return Visualness(
        frame, "histograms" if views.vectors is None else "vectors", kind,
        typical_regions(models, rows, material, has, found, words), len(material), len(rows), components,
        0 if held is None else len(held.names), (*notes, *left_out, *why),
    )  # fmt: skip


def _sight(looked: Seen, n: Ints, usual: Sequence[str]) -> dict[str, Any]:
    """V and what it is made of, beside shuffled pictures. Companions are those of words that their company explains."""
    sight, beside, called = looked.sight, against(looked.sight.v, looked.null), calls(looked.sight, n, looked.topics)
    return {
        "V": sight.v, "half": SURE * spread_of(n), "A": sight.a, "B": sight.b, "D": sight.d, "own": sight.own,
        "call": called,
        "company": [
            ", ".join(usual[at] for at in places) if call == COMPANY else ""
            for places, call in zip(looked.companions, called, strict=True)
        ],
        "left_out": np.where(looked.by_topic, "topic", "picture"),
        "z": beside.z, "p": beside.p, "q": benjamini_hochberg(beside.p),
    }  # fmt: skip


def _older(found: Sequence[Contrast], null: Null, has: Has, views: Views) -> dict[str, Any]:
    """Excess and entropy beside random words, and Hessel's concreteness where there are vectors."""
    excess, entropy = mean_excess(found), mean_entropy(found)
    columns = {
        "excess": excess, "excess_z": against(excess, null.excess).z, "E": entropy,
        "E_z": against(-entropy, -null.entropy).z,
    }  # fmt: skip
    if views.vectors is not None and len(views.vectors) > 1:
        columns["hessel"] = concreteness(neighbours_of(views.vectors.astype(np.float32), NEIGHBOURS), has)
    return columns


def vocabulary(
    pictures: Sequence[Sequence[str]], asked: Sequence[str] | None, looking: Looking
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """The words to be measured, all that could be, and notes on those that are left out."""
    counts = Counter(word for words in pictures for word in set(words))
    if not counts:
        raise JoinError(
            "no picture has a word", remedy="give captions, a manifest with a column words, or another corpus"
        )
    limit = looking.most * len(pictures)
    usual = tuple(sorted(word for word, count in counts.items() if looking.least <= count <= limit))
    wanted = list(dict.fromkeys(word.casefold() for word in asked)) if asked else sorted(counts)
    for word in wanted:
        if word not in counts:
            raise TextError(f"no picture has the word {word!r}", remedy=did_you_mean(word, counts))
    rare = [word for word in wanted if counts[word] < looking.least]
    frequent = [word for word in wanted if counts[word] > limit]
    notes = []
    for words, why in (
        (rare, f"on fewer than {looking.least} pictures"),
        (frequent, f"on more than {100 * looking.most:g} % of the pictures"),
    ):
        if words:
            names = listed([f"{word} ({counts[word]})" for word in words], NAMED)
            named = f": {names}" if asked or words is frequent else ""
            notes.append(f"{counted(len(words), 'word is', 'words are')} left out, {why}{named}")
    chosen = tuple(sorted(set(wanted) & set(usual)))
    if not chosen:
        word, count = counts.most_common(1)[0]
        remedy = f"the most frequent word, {word!r}, is on {count:,} of {len(pictures):,}; lower --least or give more"
        raise JoinError(f"no word is left to be measured: {'; '.join(notes)}", remedy=f"{remedy} pictures")
    return chosen, usual, notes


def whitened(material: Material) -> Floats:
    """15 features of each region, decorrelated: base, colour, and four differences of Gaussians."""
    material.require(GROUPS, "visualness")
    places = [NAMES["texture"].index(name) for name in DIFFERENCE_NAMES]
    columns = [material.columns["base"], material.columns["rgb"], material.columns["texture"][:, places]]
    raw = np.concatenate([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    material.refuse_bad_regions(raw)
    centre, turn = projection(raw, whiten=True)
    return np.asarray((raw - centre) @ turn)


def base_mixtures(
    rows: Floats, components: int, count: int, *, seed: int, progress: Progress | None = None
) -> list[MixtureModel]:
    """Mixtures of all regions (of 50,000 drawn ones, if there are more), each from another start."""
    models = []
    for number in range(count):
        rng = np.random.default_rng([seed, 0, number])
        drawn = rows if len(rows) <= FITTED else rows[rng.choice(len(rows), FITTED, replace=False)]
        models.append(mixtures.fit(drawn, components, rng=rng, rules=RULES, restarts=1))
        if progress is not None:
            progress("learning regions", number + 1, count)
    return models


def profiles_of(models: Sequence[MixtureModel], rows: Floats, counts: Ints) -> Profiles:
    """The sums of γ over the regions of each picture, for each mixture."""
    sums = (mixtures.concepts(model, rows, counts, lam=0.0) * counts[:, None] for model in models)
    return Profiles(tuple(np.where(counts[:, None] > 0, one, 0.0) for one in sums), counts)


def typical_regions(
    models: Sequence[MixtureModel], rows: Floats, material: Material, has: Has, found: Sequence[Contrast],
    words: Sequence[str],
) -> dict[str, tuple[Typical, ...]]:  # fmt: skip
    """The regions of each word's pictures with the highest P(X|r), the mean over mixtures."""
    offsets = material.offsets
    picture = np.repeat(np.arange(len(material)), material.counts)
    places = [np.flatnonzero(row[picture]) for row in has]
    chances = [np.zeros(len(at)) for at in places]
    for model, one in zip(models, found, strict=True):
        shares = mixtures.responsibilities(model, rows)
        values = zip(places, one.chances, strict=True)
        chances = [own + shares[at] @ each / len(models) for own, (at, each) in zip(chances, values, strict=True)]
    typical = {}
    for word, own, at in zip(words, chances, places, strict=True):
        best = np.argsort(-own, kind="stable")[:TYPICAL]
        of = [(picture[at[place]], at[place], own[place]) for place in best]
        typical[word] = tuple(Typical(material.items[i], int(r - offsets[i]), float(chance)) for i, r, chance in of)
    return typical


def _chance(
    profiles: Profiles, has: Has, topics: Topics | None, words: Sequence[str], looking: Looking, seed: int,
    progress: Progress | None,
) -> tuple[NullOf, Null, list[str]]:  # fmt: skip
    """Random words by topics, or by pictures where that is asked for or topics are too few, which is said."""
    if looking.null == "topics" and topics is not None and topics.enough:
        null = topic_null(profiles, has, topics.of, words, draws=looking.draws, seed=seed, progress=progress)
        return "topics", null, []
    notes = []
    if looking.null == "topics":
        few = counted(0 if topics is None else len(topics.names), "topic", "topics")
        notes = [f"with {few}, too few to leave one out, words are tested on single pictures"]
    rng = np.random.default_rng([seed, 3])
    return "pictures", picture_null(profiles, has, draws=looking.draws, rng=rng, progress=progress), notes


def _with_regions(
    material: Material, views: Views, topics: Topics | None
) -> tuple[Material, Views, Topics | None, list[str]]:
    """The pictures that have regions."""
    keep = np.flatnonzero(material.counts > 0)
    if not len(keep):
        raise JoinError("no picture has a region", remedy="describe the pictures again, or give other pictures")
    lost = len(material) - len(keep)
    if not lost:
        return material, views, topics, []
    fewer = None if topics is None else replace(topics, of=topics.of[keep])
    return material.take(keep), views.take(keep), fewer, [f"{counted(lost, 'picture has', 'pictures have')} no region"]


def _has(pictures: Sequence[Sequence[str]], words: Sequence[str]) -> Has:
    number = {word: at for at, word in enumerate(words)}
    has = np.zeros((len(words), len(pictures)), np.bool_)
    for at, own in enumerate(pictures):
        has[[number[word] for word in own if word in number], at] = True
    return has


def _components(has: Has, counts: Ints, rows: int, looking: Looking) -> int:
    median = int(np.median(has @ counts)) if len(has) else 0
    wanted = looking.components or min(max(median // REGIONS_PER_COMPONENT, FEWEST), MOST)
    return min(wanted, max(1, rows // ROWS_PER_COMPONENT))


def _iterated(
    models: Sequence[MixtureModel], rows: Floats, counts: Ints, has: Has, looking: Looking, seed: int,
    progress: Progress | None,
) -> dict[str, Floats]:  # fmt: skip
    """Entropy by the source's selection of regions, beside as many random regions with the same weights."""
    picture = np.repeat(np.arange(len(counts)), counts)
    chosen = []
    for at, row in enumerate(has):
        chosen.append(select(rows, row[picture], rng=np.random.default_rng([seed, 4])))
        if progress is not None:
            progress("selecting regions", at + 1, len(has))
    longest = max(len(one.chances) for one in chosen)
    weights = np.stack([np.pad(one.chances, (0, longest - len(one.chances))) for one in chosen])
    weights /= weights.sum(axis=1, keepdims=True)
    entropy, null = np.zeros(len(has)), np.zeros((looking.draws, len(has)))
    for number, model in enumerate(models):
        shares = mixtures.responsibilities(model, rows)
        own = zip(has, chosen, strict=True)
        entropy += [region_entropy(shares[row[picture]], one.chances) for row, one in own]
        rng = np.random.default_rng([seed, 5])  # the same draws for every mixture
        for draw in range(looking.draws):
            null[draw] += entropy_of(weights @ shares[rng.permutation(len(rows))[:longest]])
        if progress is not None:
            progress("drawing regions at random", number + 1, len(models))
    beside = against(-entropy / len(models), -null / len(models))
    return {
        "selected_E": entropy / len(models), "selected_z": beside.z,
        "selected_share": np.array([one.share for one in chosen]),
        "selected_regions": np.array([one.effective for one in chosen]),
    }  # fmt: skip
