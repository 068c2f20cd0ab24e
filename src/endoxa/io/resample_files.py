"""The resamples of a study of words, stored one by one: computed once, in parallel, and resumed after an interruption.

    HOME/words/1a2b3c4d….npz    what one contender scored on one resample

A file is named by everything that its numbers depend on: the features of the regions, the words, the split, the
settings and the seed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from endoxa.engines import Material
from endoxa.errors import EndoxaError
from endoxa.images.corpus import Progress
from endoxa.io.write import folder_at, replacing
from endoxa.scale.processes import in_processes
from endoxa.words.contenders import Outcome, Task, outcome
from endoxa.words.scoring import Scored

FORMAT = 2  # raised when the numbers of an outcome change
COLUMNS = tuple(one.name for one in fields(Scored))


def run(
    tasks: Sequence[Task], home: Path, *, workers: int | None = None, progress: Progress | None = None
) -> list[Outcome]:
    """The outcome of every task, in order. What is stored is read; what is computed is stored at once."""
    folder = home / "words"
    digests: dict[int, str] = {}
    paths = [folder / f"{_key(task, digests)}.npz" for task in tasks]
    found: dict[int, Outcome] = {}
    for at, path in enumerate(paths):
        if (known := _load(path)) is not None:
            found[at] = known
    lacking = [at for at in range(len(tasks)) if at not in found]
    folder_at(folder)
    for done, (at, result) in enumerate(_work(tasks, lacking, workers or os.cpu_count() or 1), start=1):
        _save(result, paths[at])
        found[at] = result
        if progress is not None:
            progress("learning words", done, len(lacking))
    return [found[at] for at in range(len(tasks))]


def _work(tasks: Sequence[Task], lacking: list[int], workers: int) -> Iterator[tuple[int, Outcome]]:
    """The outcomes of tasks as they finish; few are submitted at a time, because each carries its features."""
    if workers == 1 or len(lacking) < 2:
        for at in lacking:
            yield at, outcome(tasks[at])
        return

    def killed(at: int) -> EndoxaError:
        task = tasks[at]
        return EndoxaError(
            f"a process that learnt words was killed at resample {task.resample + 1} of {task.contender.name}",
            remedy="finished resamples are kept. Start again, with fewer workers if memory ran out. A script must do "
            'its work below `if __name__ == "__main__":`, because each process imports it again',
        )

    yield from in_processes(outcome, {at: tasks[at] for at in lacking}, workers, most=2 * workers, killed=killed)


def _key(task: Task, digests: dict[int, str]) -> str:
    """Everything that the outcome depends on; `digests` has those of the material, which many tasks share."""
    if id(task.material) not in digests:
        digests[id(task.material)] = _digest(task.material)
    settings = {name: value for name, value in asdict(task.contender).items() if name not in {"name", "source"}}
    state = [FORMAT, settings, task.resample, task.seed, task.words, digests[id(task.material)]]
    whole = sha256(json.dumps(state, sort_keys=True).encode())
    for places in task.split.parts().values():
        whole.update(np.ascontiguousarray(places, dtype=np.int64).tobytes() + b"|")
    return whole.hexdigest()[:32]


def _digest(material: Material) -> str:
    whole = sha256(json.dumps([material.items, material.words]).encode())
    whole.update(np.ascontiguousarray(material.counts, dtype=np.int64).tobytes())
    for name in sorted(material.columns):
        whole.update(name.encode() + np.ascontiguousarray(material.columns[name]).tobytes())
    return whole.hexdigest()


def _save(result: Outcome, path: Path) -> None:
    arrays = {f"{part} {name}": getattr(found, name) for part, found in result.parts.items() for name in COLUMNS}
    facts = {
        "vocabulary": list(result.vocabulary), "train": result.train, "everywhere": result.everywhere,
        "sizes": dict(result.sizes), "regions": result.regions,
    }  # fmt: skip
    with replacing(path) as part, part.open("wb") as stream:  # NumPy would append a suffix to a name
        np.savez_compressed(stream, facts=np.array(json.dumps(facts)), **arrays)


def _load(path: Path) -> Outcome | None:
    """A stored outcome; None if there is none, or if it cannot be read: it is then computed again."""
    faults = (OSError, ValueError, KeyError, BadZipFile, EOFError)
    with suppress(*faults), path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        facts = json.loads(str(stored["facts"]))
        parts = {part: Scored(*(stored[f"{part} {name}"] for name in COLUMNS)) for part in facts["sizes"]}
        counts, vocabulary = facts["sizes"], tuple(facts["vocabulary"])
        return Outcome(vocabulary, facts["train"], facts["everywhere"], parts, counts, facts["regions"])
    return None
