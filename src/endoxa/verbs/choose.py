"""choose: which pairs to judge next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from endoxa.declared import option
from endoxa.later import np
from endoxa.policies import MIXING
from endoxa.verbs.parameters import Machines, Named, Relied, Runs, Seed, takes_either_order

if TYPE_CHECKING:
    import polars as pl

    from endoxa.measures.grammar import Measure, Wanted


def asked(text: str) -> Any:
    """What labels are to settle, as it is typed."""
    from endoxa.pools.choosing import about_of

    return about_of(text)


@takes_either_order
def choose(
    run: Runs,
    reference: Relied = None,
    count: Annotated[int, option("How many pairs.", "-n", "--count", least=1)] = 100,
    *,
    measures: Named = None,
    judged: Annotated[
        Any, option("What is judged already: learned from, and not asked again.", "--labels", metavar="FILE", many=True)
    ] = None,
    judges: Machines = None,
    about: Annotated[
        Any,
        option(
            "What labels are to settle: the order, the best, or two systems.", metavar="order|best|A,B", parse=asked
        ),
    ] = "order",
    mixing: Annotated[
        float, option("Share of the choice that is made at random over all pairs.", least=0, most=1)
    ] = MIXING,
    first: Annotated[
        int | None,
        option(
            "Draw from the first N items of each run; default: as deep as a measure looks.", "-k", "--first", least=1
        ),
    ] = None,
    seed: Seed = 0,
) -> pl.DataFrame:
    """List the pairs whose judgment says most about the order of the systems, each with its propensity.

    Exactly `count` are chosen.
    Columns: order, query, item, p, influence, systems, propensity, selected_by, draw, draw_after, draw_depth. Keep the
    last five beside the grades. The order is by the first of `measures` that can be linearised (AP, P@k, R@k, DCG@k,
    nDCG@k), else by AP. `about` is the order, the best, or two systems. Pairs come from the `first` items of each run:
    as deep as the measure looks, else 100 (20 in a collection of fewer than 1,000 items). `judged` pairs are learned
    from and not asked again; rounds are numbered in `draw`, and their files may come in any order. `judges` are grades
    of machine judges; pairs are drawn from the consensus of the systems nevertheless, because what a machine judge
    cannot see must be asked about too. `reference` is a
    belief to rely on in place of the consensus and of what was learned. `mixing` is the share of the choice that is
    spread evenly over all pairs.

    Examples:
        endoxa next runs/*.gz -n 150 -o csv --to judge.csv
        endoxa eval runs/*.gz --labels judge.csv
        endoxa next runs/*.gz --labels judge.csv --about best -n 50 -o csv --to more.csv
    """
    from endoxa.beliefs.learned import Judged
    from endoxa.beliefs.reliability import chances
    from endoxa.comparisons.rounds import last_round
    from endoxa.evaluations import decided
    from endoxa.evaluations.dispatch import belief_of, no_run
    from endoxa.measures.judgments import refuse_out_of_reach
    from endoxa.pools.deciding import Deciding, Question
    from endoxa.verbs.inputs import gradings_of, labels_of, reference_of, run_of, settings_of

    if run is None or (isinstance(run, list) and not run):
        raise no_run()
    settings = settings_of({"people": 0, "seed": seed}, run)
    table = run_of(run, settings)
    measure = measure_of(measures)
    known = labels_of(judged)
    universe = decided.universe_of(table, settings, first, gradings_of(judges))
    if not len(Judged.of(universe, known)):
        refuse_out_of_reach([measure], [1.0], "a consensus of votes")
    deciding = Deciding.of(universe, Question(measure, about, mixing=mixing), known)
    p = None
    if reference is not None and not (isinstance(reference, list | tuple) and not reference):
        stated = chances(belief_of(reference_of(reference, settings), table, settings))
        joined = universe.rows.join(stated, on=["query", "item"], how="left", maintain_order="left")
        p = joined["p"].fill_null(np.nan).to_numpy()
    number = 1 if known is None else last_round(known) + 1
    return deciding.ask(count, number=number, p=p, depth=first, rng=np.random.default_rng(seed))


def measure_of(measures: Wanted | None) -> Measure:
    """The first measure that can be linearised; AP where none was named."""
    from endoxa.measures.grammar import parse_all

    wanted = parse_all(measures) if measures else parse_all("AP")
    return next((m for m in wanted if m.linear is not None), wanted[0])
