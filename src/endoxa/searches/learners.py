"""Every learner by its name, with one line about it."""

from __future__ import annotations

from endoxa.searches import baselines
from endoxa.searches.baselines import learner_of
from endoxa.searches.learner import Learner, learn

LEARNERS: dict[str, tuple[Learner, str]] = {
    "kernel": (learn, "Gaussian process on all groups, whose weights and metrics are learnt; explores"),
    "reweighting": (learner_of(baselines.reweighting), "weights of single numbers by their spread; moved query"),
    "rocchio": (learner_of(baselines.rocchio), "the query moves to the likes and away from the dislikes; look"),
    "mars": (learner_of(baselines.mars), "moved query, numbers weighted by 1/σ, groups by votes"),
    "neighbours": (learner_of(baselines.neighbours), "the nearest liked against the nearest disliked picture"),
    "best-score": (learner_of(baselines.best_score), "the nearest liked or disliked picture decides alone; look"),
    "linear-svm": (learner_of(baselines.linear_svm), "linear support vector machine; look"),
    "rbf-svm": (learner_of(baselines.rbf_svm), "support vector machine with a Gaussian kernel on all groups"),
    "pichunter": (learner_of(baselines.pichunter), "the probability to be the target, by what was preferred; look"),
    "none": (baselines.none, "no feedback: the next page of the first ranking"),
}
