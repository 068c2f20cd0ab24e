"""Machine judges within reach of a universe: each grade as a share of its judge's scale, and what they say together.

A machine judge is one more opinion. What all judges say of an item is one predictor of its relevance, and what one of
them says beyond the others is another; how much each is worth is learned from the labels of people (`learned`).
Source: docs/methods/judges.md, The model.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl

from endoxa.frozen import dataclass
from endoxa.tables import Floats, Gradings, Ints

TOGETHER = 0.5  # correlation of the errors of two judges, about: the many are worth no more than two
HALF = 0.2  # a grade for and one against that stand beside the judges', so that l has no infinity
CONSTANT, ELSEWHERE = "constant", "elsewhere"  # why a judge is left out


@dataclass(frozen=True, eq=False)
class Panel:
    """The machine judges that grade pairs of a universe.

    names     [judge] in order of name
    shares    [row, judge] the grade as a share of the judge's scale, the mean of its repeats; NaN where it gave none
    left_out  judges that say nothing here, and why: `constant` (all of its grades are the same), `elsewhere` (it graded
              no pair of the universe)
    """

    names: list[str]
    shares: Floats
    left_out: dict[str, str]

    @classmethod
    def of(cls, rows: pl.DataFrame, gradings: Gradings) -> Panel:
        """The judges of these rows (query, item)."""
        share = (pl.col("grade") - pl.col("least")) / (pl.col("most") - pl.col("least"))
        means = gradings.frame.group_by("judge", "query", "item").agg(share.mean().alias("share"))
        known = means.join(rows.select("query", "item").with_row_index("row"), on=["query", "item"], how="inner")
        names, columns, left_out = list[str](), list[Floats](), dict[str, str]()
        for name in gradings.judges:
            own = known.filter(pl.col("judge") == name)
            if not own.height:
                left_out[name] = ELSEWHERE
            elif own["share"].n_unique() == 1:
                left_out[name] = CONSTANT
            else:
                column = np.full(rows.height, np.nan)
                column[own["row"].to_numpy()] = own["share"].to_numpy()
                names.append(name)
                columns.append(column)
        return cls(names, np.array(columns, dtype=np.float64).reshape(len(names), rows.height).T, left_out)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def given(self) -> Ints:
        """[row] the number of judges who graded it."""
        return np.asarray((~np.isnan(self.shares)).sum(1), dtype=np.int64)

    @property
    def is_partial(self) -> bool:
        """Whether some rows have no grade of any judge."""
        return not self.given.all()

    @cached_property
    def mean(self) -> Floats:
        """[row] the mean share; a half where nobody graded."""
        total = np.nansum(self.shares, axis=1)
        return np.asarray(np.where(self.given > 0, total / np.maximum(self.given, 1), 0.5))

    @property
    def effective(self) -> float:
        """The number of judges whose errors would be independent."""
        return len(self) / (1 + (len(self) - 1) * TOGETHER)

    @cached_property
    def together(self) -> Floats:
        """[row] what all judges say: the logit of their mean share, closer to 0 the fewer they are; 0 for no grade."""
        worth = self.effective * self.given / len(self)
        return np.asarray(np.log(HALF + worth * self.mean) - np.log(HALF + worth * (1 - self.mean)))

    @cached_property
    def apart(self) -> Floats:
        """[row, judge] what each of several judges says beyond the mean; no column for a single judge."""
        if len(self) < 2:
            return np.zeros((len(self.mean), 0))
        return np.nan_to_num(self.shares - self.mean[:, None])

    @cached_property
    def columns(self) -> Floats:
        """[row, predictor] what the judges say: together, then each beyond the others."""
        return np.column_stack([self.together, self.apart])
