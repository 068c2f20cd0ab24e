"""Votes from texts that systems produced, such as OCR engines, taggers or transcribers, without a true text.

Outputs are {system: {document: words in order}}. A document is a query, and a system votes for the words it produced:

    bag_of_words   an item is the j-th occurrence of a word, in any order. Use it for named entities, keywords and sets
                   of answers.
    aligned        an item is a word in a column of the aligned outputs, so that a word in another place is another
                   item. Use it for running text. A repeated word may be misplaced, and moved blocks look like errors.

A system has a row with grade 1 for each item it produced; a missing row is a no. A system with empty output for a
document has rows with grade 0 for all its items, because a system without any row does not vote on the document. Words
are compared exactly, so normalise letter case, punctuation and Unicode first.
Source: Lamiroy & Sun, GREC 2011, section 2.3.2, methods I and II, which do not specify the alignment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, groupby, pairwise, product
from typing import Any

import numpy as np
import polars as pl

from endoxa.errors import TableError
from endoxa.tables import Ints, Opinions

Outputs = Mapping[str, Mapping[str, Sequence[str]]]
Column = tuple[str | None, ...]

GAP = -1  # in a profile, where a system has no word
UNIT = math.lcm(*range(1, 23))  # the score 1: similarities of words of up to 22 letters are exact whole numbers
BLOCK = 1 << 18  # pairs of columns that are weighed at once: 2 MB, which a cache holds
ROWS = {"source": pl.String, "query": pl.String, "item": pl.String, "grade": pl.Float64}


def bag_of_words(outputs: Outputs) -> Opinions:
    """Votes for words in any order: a system votes for the item `word#j` if it produced the word at least j times.

    Misleads: the same word elsewhere on the page counts as agreement, and frequent words agree by chance.
    Source: Lamiroy & Sun 2011, method I.
    """
    _check(outputs)
    texts = [(system, document, list(words)) for system, found in outputs.items() for document, words in found.items()]
    frame = pl.DataFrame(
        texts, schema={"source": pl.String, "query": pl.String, "word": pl.List(pl.String)}, orient="row"
    )
    frame = frame.explode("word", empty_as_null=False)
    occurrence = pl.col("word").cum_count().over("source", "query", "word")
    return _opinions(outputs, frame.with_columns(item=pl.format("{}#{}", "word", occurrence)))


def aligned(outputs: Outputs, *, near: float | None = None) -> Opinions:
    """Votes for words in their places: the item `3:Paris` is the word in column 3 of the aligned outputs.

    Two words in a column score 1 if they are equal and -1 if not; a word over a gap scores -1. With `near` (0.8 is
    usual), words with sim = 1 - Levenshtein/longer length of at least `near` score 2·sim - 1, so that misread words are
    aligned; they remain different items. Outputs are joined pairwise, the most similar first: UPGMA on 1 - equal
    words/longer length of their pairwise alignments, ties in the order given. Joined columns score the mean over pairs
    of their words (two gaps: 0). Needleman & Wunsch give the optimum; among equal scores, from the end, a pair of
    columns precedes a gap in the later output, and that a gap in the earlier one.
    Misleads: early mistakes stay, because joined outputs are not separated again; the order of systems decides ties.
    Time grows as systems² · words² (a second or two for 5 outputs of 2,000 words), memory as words²/4 bytes. The search
    for near words is quick at 0.8 and slow at 0.6.
    Source: Lamiroy & Sun 2011, method II; Needleman & Wunsch 1970; Feng & Doolittle 1987.
    """
    _check(outputs)
    words, alike = _vocabulary(outputs, near)
    number = {word: place for place, word in enumerate(words)}
    spelt = pl.Series(words, dtype=pl.String)
    frames = []
    for document in dict.fromkeys(document for found in outputs.values() for document in found):
        having = [system for system, found in outputs.items() if document in found]
        profile = _profile([[number[word] for word in outputs[system][document]] for system in having], alike)
        voter, column = np.nonzero(profile.T != GAP)
        rows = pl.DataFrame(
            {"voter": voter, "column": column + 1, "word": spelt.gather(profile[column, voter])},
            schema={"voter": pl.Int64, "column": pl.Int64, "word": pl.String},
        )
        names = pl.Series(having, dtype=pl.String)
        frames.append(
            rows.select(
                source=names.gather(rows["voter"]), query=pl.lit(document), item=pl.format("{}:{}", "column", "word")
            )
        )
    return _opinions(outputs, pl.concat(frames) if frames else pl.DataFrame(schema=ROWS))


def columns(texts: Mapping[str, Sequence[str]], *, near: float | None = None) -> list[Column]:
    """Align the outputs of one document, {system: words}: each column has a word or None (a gap) for every system."""
    outputs = {system: {"": words} for system, words in texts.items()}
    _check(outputs)
    words, alike = _vocabulary(outputs, near)
    number = {word: place for place, word in enumerate(words)}
    profile = _profile([[number[word] for word in text] for text in texts.values()], alike)
    return [tuple(None if cell == GAP else words[cell] for cell in column) for column in profile.tolist()]


def _check(outputs: Outputs) -> None:
    if not outputs:
        raise TableError("there are no outputs", remedy="expected {system: {document: [word, word, …]}}")
    for system, found in outputs.items():
        if not isinstance(system, str):
            raise TableError(f"system {system!r} is not called by a text", remedy=f"name it, say {str(system)!r}")
        if not isinstance(found, Mapping):
            raise TableError(
                f"output {system!r} is a {type(found).__name__}", remedy="expected {document: [word, word, …]}"
            )
        for document, words in found.items():
            if not isinstance(document, str):
                raise TableError(
                    f"document {document!r} of {system!r} is not called by a text",
                    remedy=f"name it, say {str(document)!r}",
                )
            if isinstance(words, str) or not isinstance(words, Sequence):
                raise TableError(
                    f"the output of {system!r} for {document!r} is a {type(words).__name__}",
                    remedy="expected a list of words: split the text first",
                )
            if odd := [word for word in words if not isinstance(word, str)]:
                raise TableError(
                    f"the output of {system!r} for {document!r} holds {odd[0]!r}", remedy="expected words, as texts"
                )


def _opinions(outputs: Outputs, yes: pl.DataFrame) -> Opinions:
    """Rows of grade 1 for each system and its items, and rows of grade 0 for systems whose output is empty."""
    if yes.is_empty():
        raise TableError("no system has a word for any document; there is nothing to vote on")
    yes = yes.select("source", "query", "item", grade=pl.lit(1.0))
    silent = [
        (system, document) for system, found in outputs.items() for document, words in found.items() if not len(words)
    ]
    empty = pl.DataFrame(silent, schema={"source": pl.String, "query": pl.String}, orient="row")
    items = yes.select("query", "item").unique(maintain_order=True)
    no = empty.join(items, on="query", how="inner", maintain_order="left_right")
    return Opinions.of(pl.concat([yes, no.with_columns(grade=pl.lit(0.0))]), kind="system")


# ---- alignment ----------------------------------------------------------------------------------------
# Words are numbers. A profile is a matrix [column, text] of words and gaps; a text is a profile of one.


def _profile(texts: list[list[int]], near: Any | None) -> Ints:
    """Join all texts into one profile, in the order given. `near` is over the whole vocabulary."""
    used, flat = np.unique(np.array([word for text in texts for word in text], dtype=np.int64), return_inverse=True)
    near = near[used][:, used] if near is not None else None
    ends = np.cumsum([len(text) for text in texts])
    profiles = {place: part[:, None] for place, part in enumerate(np.split(flat.astype(np.int64), ends[:-1]))}
    members = {place: [place] for place in profiles}
    distance = {
        (a, b): _distance(profiles[a], profiles[b], near) if len(profiles) > 2 else Fraction(0)
        for a, b in combinations(profiles, 2)
    }
    while distance:  # sums over pairs of texts; UPGMA takes their mean. The key of a cluster is its first text.
        a, b = min(distance, key=lambda pair: (distance[pair] / (len(members[pair[0]]) * len(members[pair[1]])), pair))
        profiles[a] = _joined(profiles[a], profiles.pop(b), near)
        members[a] += members.pop(b)
        del distance[a, b]
        for other in profiles.keys() - {a}:
            distance[min(a, other), max(a, other)] += distance.pop((min(b, other), max(b, other)))
    ((place, profile),) = profiles.items()
    profile = np.where(profile == GAP, GAP, used[profile]) if len(used) else profile
    return profile[:, np.argsort(members[place])]


def _distance(first: Ints, second: Ints, near: Any | None) -> Fraction:
    """1 - equal words/longer length of two texts, as an exact fraction; 0 for two empty texts."""
    pair = _joined(first, second, near)
    matches = np.count_nonzero((pair[:, 0] == pair[:, 1]) & (pair[:, 0] != GAP))
    longer = max(len(first), len(second))
    return 1 - Fraction(int(matches), longer) if longer else Fraction(0)


def _joined(first: Ints, second: Ints, near: Any | None) -> Ints:
    """Join two profiles, with their columns paired by the best score."""
    above, below = _path(first, second, near)
    wide = np.full((len(above), first.shape[1] + second.shape[1]), GAP, dtype=np.int64)
    wide[above != GAP, : first.shape[1]] = first[above[above != GAP]]
    wide[below != GAP, first.shape[1] :] = second[below[below != GAP]]
    return wide


def _path(first: Ints, second: Ints, near: Any | None) -> tuple[Ints, Ints]:
    """The column of each profile in each column of the alignment, or GAP where a gap was inserted.

    This is Needleman & Wunsch on sums over pairs of words. All gaps are charged in advance, so that a gap costs nothing
    and pairing two words earns sim + 2. Then H[i,j] = max(H[i-1,j-1] + earned[i,j], H[i-1,j], H[i,j-1]) is computed row
    by row, the last term as a running maximum. Two bits per cell are kept for the way back.
    """
    n, m = len(first), len(second)
    diagonal, up = (np.empty((n, (m + 7) // 8), dtype=np.uint8) for _ in range(2))
    before = np.zeros(m + 1, dtype=np.int64)
    step = max(1, BLOCK // max(m, 1))
    for start in range(0, n, step):
        earned = _earned(first[start : start + step], second, near)
        for row, earning in enumerate(earned, start):
            paired = earning + before[:-1]
            best = np.maximum.accumulate(np.maximum(paired, before[1:]))
            diagonal[row] = np.packbits(best == paired)
            up[row] = np.packbits(best == before[1:])
            before[1:] = best
    return _way_back(diagonal, up, n, m)


def _earned(first: Ints, second: Ints, near: Any | None) -> Ints:
    """[column, column]: what pairing the columns earns over gaps, sim + 2 summed over pairs of words."""
    words = (first != GAP).sum(1)[:, None] * (second != GAP).sum(1)
    equal = np.zeros_like(words)
    for above, below in product(first.T, np.where(second == GAP, GAP - 1, second).T):  # a gap is no match for a gap
        equal += above[:, None] == below
    earned: Ints = UNIT * (words + 2 * equal)
    if near is not None:
        size = near.shape[0]
        earned += (_counts(first, size) @ near @ _counts(second, size).T).toarray()
    return earned


def _counts(profile: Ints, size: int) -> Any:
    """The number of times that each word occurs in each column: a sparse matrix [column, word]."""
    from scipy.sparse import csr_array

    column, text = np.nonzero(profile != GAP)
    ones = np.ones(len(column), dtype=np.int64)
    return csr_array((ones, (column, profile[column, text])), shape=(len(profile), size))


def _way_back(diagonal: Any, up: Any, n: int, m: int) -> tuple[Ints, Ints]:
    """Walk from the last cell to the first: diagonally if that is optimal, else up, else left."""
    i, j = n, m
    way: list[tuple[int, int]] = []
    while i and j:
        byte, bit = (j - 1) >> 3, 7 - ((j - 1) & 7)
        if diagonal[i - 1, byte] >> bit & 1:
            i, j = i - 1, j - 1
            way.append((i, j))
        elif up[i - 1, byte] >> bit & 1:
            i -= 1
            way.append((i, GAP))
        else:
            j -= 1
            way.append((GAP, j))
    way += [(row, GAP) for row in range(i - 1, -1, -1)] + [(GAP, column) for column in range(j - 1, -1, -1)]
    path = np.array(way[::-1], dtype=np.int64).reshape(-1, 2)
    return path[:, 0], path[:, 1]


# ---- likeness of words --------------------------------------------------------------------------------


def _vocabulary(outputs: Outputs, near: float | None) -> tuple[list[str], Any | None]:
    """The distinct words, and what near words earn over other pairs, sim + 1 in units: sparse [word, word]."""
    words = list(dict.fromkeys(word for found in outputs.values() for text in found.values() for word in text))
    if near is None:
        return words, None
    if not 0.5 <= near <= 1:  # below one half a near word would score less than 0
        raise TableError(f"near is a share of letters between 0.5 and 1, not {near}", remedy="0.8 is usual")
    from scipy.sparse import csr_array

    pairs = np.array(list(_near_pairs(words, near)), dtype=np.int64).reshape(-1, 3)
    one, other, more = pairs.T
    both = np.concatenate([one, other]), np.concatenate([other, one])
    return words, csr_array((np.concatenate([more, more]), both), shape=(len(words), len(words)))


def _near_pairs(words: list[str], near: float) -> Iterator[tuple[int, int, int]]:
    """Pairs of different words with sim = 1 - Levenshtein/longer length ≥ near, and 2·sim - 1 + 1 in units.

    With at most k edits, one of any k+1 pieces of the shorter word occurs in the longer one, shifted by at most k
    letters; so only words that share a piece are compared. Source: Li, Deng, Wang & Feng (Pass-Join, VLDB 2011).
    """
    order = sorted(range(len(words)), key=lambda place: len(words[place]))
    by_length = {length: list(places) for length, places in groupby(order, key=lambda place: len(words[place]))}
    pieces: dict[tuple[int, int], list[dict[str, list[int]]]] = {}
    for place in order:
        word = words[place]
        limit = math.floor((1 - near) * len(word) + 1e-9)  # 1 - 0.8 is a little less than 0.2
        if not limit:
            continue
        found: set[int] = set()
        for length in range(len(word) - limit, len(word) + 1):
            cuts = [length * piece // (limit + 1) for piece in range(limit + 2)]
            if (length, limit) not in pieces:
                pieces[length, limit] = _pieces(words, by_length.get(length, []), cuts)
            for index, (begin, end) in zip(pieces[length, limit], pairwise(cuts), strict=True):
                for at in range(max(0, begin - limit), min(begin + limit, len(word) - (end - begin)) + 1):
                    found.update(index.get(word[at : at + end - begin], ()))
        for other in sorted(found):
            if (len(words[other]), other) < (len(word), place):
                edits = _levenshtein(words[other], word, limit)
                if edits <= limit:
                    yield other, place, 2 * UNIT * (len(word) - edits) // len(word)


def _pieces(words: list[str], places: list[int], cuts: list[int]) -> list[dict[str, list[int]]]:
    """The words by the text of their first, second, … piece."""
    indexes: list[dict[str, list[int]]] = []
    for begin, end in pairwise(cuts):
        index: dict[str, list[int]] = {}
        for place in places:
            index.setdefault(words[place][begin:end], []).append(place)
        indexes.append(index)
    return indexes


def _levenshtein(one: str, other: str, limit: int) -> int:
    """The number of letters to insert, delete or change; any number above `limit` if it exceeds `limit`."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        corner, row[0] = row[0], i
        for j, against in enumerate(other, 1):
            corner, row[j] = row[j], min(corner + (letter != against), row[j] + 1, row[j - 1] + 1)
        if min(row) > limit:
            break
    return min(row) if min(row) > limit else row[-1]
