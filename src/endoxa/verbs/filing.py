"""filing: what people who filed items in categories say, and how far they agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from endoxa.declared import argument
from endoxa.verbs.parameters import Confidence, Seed

if TYPE_CHECKING:
    from endoxa.studies.filings import Filings


def categories(
    labels: Annotated[Any, argument("Who filed what: source, item, category.", "FILING")],
    taxonomy: Annotated[Any, argument("The categories: category, parent; the root has an empty parent.", "TREE")],
    *,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> Filings:
    """Probabilities and sizes of categories from people who filed items in them, and how far these people agree.

    p(category | item) is the share of the item's people who filed it there or below, the size of a category the sum of
    these. Agreement is Krippendorff's alpha by distance in the tree, with an interval over items from 10 of them on;
    and for each category, whether an item belongs there. `labels` and `taxonomy` are tables, files, frames or rows.

    >>> rows = [(f"s{n}", "a", name) for n, name in enumerate(["people", "people", "crowd", "city", "city"])]
    >>> labels = [{"source": s, "item": i, "category": c} for s, i, c in rows]
    >>> edges = {"all": None, "people": "all", "crowd": "people", "outdoor": "all", "city": "outdoor"}
    >>> tree = [{"category": name, "parent": parent} for name, parent in edges.items()]
    >>> categories(labels, tree).shares.select("category", "p").rows()
    [('all', 1.0), ('people', 0.6), ('crowd', 0.2), ('outdoor', 0.4), ('city', 0.4)]

    Examples:
        endoxa categories filing.csv tree.csv
        endoxa categories filing.csv tree.csv -q photo7
        endoxa categories filing.csv tree.csv -o csv --to shares.csv
        endoxa eval filing.csv tree.csv system.run P@10 --mix assigned
    """
    import numpy as np
    import polars as pl

    from endoxa.errors import TableError
    from endoxa.evaluations.settings import Settings
    from endoxa.studies.filings import filings
    from endoxa.tables import Labels, Taxonomy
    from endoxa.verbs.inputs import paths_of, reference_of

    settings = Settings(confidence=confidence, seed=seed)
    if paths_of(labels) and paths_of(taxonomy):
        reference = reference_of([*paths_of(labels), *paths_of(taxonomy)], settings)
    else:
        if not isinstance(taxonomy, Taxonomy) and not paths_of(taxonomy):
            taxonomy = Taxonomy.of(taxonomy if isinstance(taxonomy, pl.DataFrame) else pl.DataFrame(taxonomy))
        if not isinstance(labels, Labels) and not paths_of(labels):
            labels = Labels.of(labels if isinstance(labels, pl.DataFrame) else pl.DataFrame(labels))
        reference = reference_of(labels, settings, taxonomy=taxonomy)
    table, tree = reference.table, reference.taxonomy
    if not isinstance(table, Labels) or tree is None:
        raise TableError(
            "expected who filed what (source, item, category) and a taxonomy (category, parent)",
            remedy="give both; for grades take endoxa ratings",
        )
    return filings(table, tree, confidence=confidence, rng=np.random.default_rng(seed))
