"""What is fuzzed: every reader of files of others, the texts that people type, and the command line.

A target takes any bytes. It may return or raise an EndoxaError; anything else is a finding. `samples` are good inputs
to begin with, `words` what a mutation may insert. A new reader is a new target here; a test finds one without.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import shutil
import struct
import sys
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args
from zlib import crc32

import numpy as np
import polars as pl
from vector_samples import write_vectors

from endoxa.errors import EndoxaError
from endoxa.evaluations.evaluation import Evaluation
from endoxa.io.bundles import READ, read_bundle, write_bundle
from endoxa.io.corpora import caption_of, read_corpus
from endoxa.io.formats import COLUMN_NAMES, Kind, sniff
from endoxa.io.read import read
from endoxa.io.run_files import map_blocks
from endoxa.io.study_files import read_known, read_pairs, read_shown, read_study
from endoxa.io.table_files import read_costs
from endoxa.io.texts import read_questions, read_texts
from endoxa.io.trec_text import read_zscores
from endoxa.io.vectors import read_vectors
from endoxa.io.write import write, write_frame
from endoxa.tables import Bundle, Opinions, Run

MEGABYTE = 1 << 20
ANY = 15.0  # share of readers that tell formats apart by content: 100,000 of a million inputs each
Feed = Callable[[bytes, Path], None]


@dataclass(frozen=True)
class Target:
    """A reader; `share` of the inputs of a run go to it, `floor` bytes it may always use."""

    name: str
    feed: Feed
    samples: Callable[[], list[bytes]]
    words: tuple[str, ...] = ()
    share: float = 1.0
    floor: int = 64 * MEGABYTE


TARGETS: dict[str, Target] = {}


def target(
    name: str, samples: Callable[[], list[bytes]], *words: str, share: float = 1.0, floor: int = 64 * MEGABYTE
) -> Callable[[Feed], Feed]:
    """Register the function as what reads the bytes."""

    def add(feed: Feed) -> Feed:
        TARGETS[name] = Target(name, feed, samples, words, share, floor)
        return feed

    return add


def choice(data: bytes, *of: Any) -> Any:
    """One of these, decided by the input, so that it is the same when the input is read again."""
    return of[crc32(data) % len(of)]


def named(data: bytes, stem: str) -> str:
    """The name of a table, with the suffix of what it looks like."""
    head = data.partition(b"\n")[0]
    marks = {b"PAR1": ".parquet", b"{": ".jsonl", b"\t": ".tsv"}
    return stem + next((suffix for mark, suffix in marks.items() if mark in head), ".csv")


def kept(data: bytes, folder: Path, name: str) -> Path:
    """The bytes as a file."""
    path = folder / name
    path.write_bytes(data)
    return path


# ---- tables ---------------------------------------------------------------------------------------------------

RUN = b"q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 2.5 t\n"
HEADED = [
    (b"qid Q0 docno rank score tag", RUN),
    (b"qid iter docno rel", b"q1 0 d1 1\nq1 0 d2 0\n"),
    (b"# query item grade method probability", b"q1 d1 1 s 0.5\n"),
    (b"query group subgroup item level", b"q1 a x d1 2\n"),
    (b"qid pid rank", b"q1 d1 1\nq1 d2 2\n"),
]
TABLES = [
    RUN,
    RUN.replace(b" ", b"\t"),
    b"q1 0 d1 1\nq1 0 d2 0\n",
    b"q1 d1 1 s 0.5\nq1 d2 0 s 0.5\n",
    b"q1 a 1 d1 2\nq1 a 1 d2 1\n",
    b"system,query,item,score\na,q1,d1,2.5\na,q1,d2,1.5\n",
    b"query\titem\tgrade\tat\nq1\td1\t1\t2026-01-31T12:00:00Z\n",
    b'{"query":"q1","item":"d1","score":1.5}\n{"query":"q1","item":"d2","score":1}\n',
    b'{"system":"a","query":"q1","measure":"AP","value":null,"policy":"ties=trec"}\n',
    b"measure,system,baseline,difference\nAP,a,b,0.5\n",
    b"query,reading,weight,item,grade,p\nq,,1,a,1,0.5\nq,,1,a,0,0.5\n",
    b"source,item,category\nann,a,animals/birds\n",
    b"category,parent\nbirds,animals\nanimals,\n",
    b"animals/birds/owls\nanimals/cats\n",
    b"q 1\tQ0\td 1\t1\t2.5\tt\nq 1\tQ0\td2\t2\t1.5\tt\n",
    b"q 1\t0\td 1\t1\nq 1\t0\td2\tnot relevant\n",
    *(header + b"\n" + row for header, row in HEADED),
    b"source,query,item,rank,relevance\nann,q,a,1,1\n",
]
JSONS = [
    b'{"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d1": 0.25}}',
    b'{\n "q1": {\n  "d1": 1, "d2": 0}, "q2": {"d1": 2}}\n',
    b'{"q1": ["d1", "d2"], "q2": ["d3"]}',
    b'{"q1": [["d1", 2.5], ["d2", 1.5]]}',
    b'{"q1": [{"doc_id": "d1", "score": 1.5}, {"doc_id": "d2", "score": 1}]}',
    b'{"a": {"q1": {"d1": 1.5}}, "b": {"q1": {"d2": 0.5}}}',
    b'{"mteb_model_meta": {"model_name": "m"}, "default": {"test": {"q1": {"d1": 0.5, "d2": 0.25}}}}',
    b'[{"query_id": "q1", "doc_id": "d1", "score": 1.5}]',
    b'[{"qid": "q1", "results": ["d1", "d2"], "relevant_ids": ["d2"]}]',
    b'{"q1": {"d1": "yes", "d2": "no"}}',
    b'{"hits": {"hits": [{"_id": "d1", "_score": 1.5}]}}',
    b'{"ndcg@10": {"q1": 0.5}, "map": {"q1": 0.25}}',
    b'[{"id": 1, "data": {"text": "x"}, "annotations": [], "predictions": [5]}]',
]
LISTS = [
    b'{"query_id": "q1", "results": ["d1", "d2"]}\n{"query_id": "q2", "results": ["d3"]}\n',
    b'{"query_id": "q1", "results": [{"id": "d1", "score": 1.5}]}\n',
    b'{"query_id": "q1", "results": {"d1": 1.5, "d2": 1}, "system": "a"}\n',
    b'{"user_input": "why?", "retrieved_context_ids": ["d1"], "reference_context_ids": ["d1", 2]}\n',
    b'{"qid": 1, "relevant_ids": [["d1", 2]]}\n',
]
MARCO = [b"q1\td1\t1\nq1\td2\t2\nq2\td1\t1\n", b"q1 d1 1\r\n#1 d1 1\nq1 d2 2\n", b"q 1\tmy own doc\t1\nq 1\td\t2\n"]
WORDED = [b"q1 0 d1 yes\nq1 0 d2 not relevant\nq1 0 d3 2\n", b"q1 ann d1 no\nq1 bob d1 relevant\n"]
BEIR = [b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n", b'{"query-id": "q1", "corpus-id": "d1", "score": 1}\n']
WORDS = ("nan", "inf", "-1e400", "\ufeff", "\r", "\0", '"', "'", "{", "[", "\\u0000", "null", "true", "1_0")


def _packed(suffix: str) -> bytes:
    path = scratch() / f"packed{suffix}"
    write(read({"a": {"q": {"d1": 1.5, "d2": 0.5}}}), path)
    return path.read_bytes()


@cache
def scratch() -> Path:
    """A folder for files that samples are made of; removed by the system."""
    import tempfile

    return Path(tempfile.mkdtemp(prefix="endoxa-fuzz-samples-"))


def packed() -> list[bytes]:
    return [gzip.compress(RUN, mtime=0), *map(_packed, (".run.zst", ".parquet", ".jsonl.zst"))]


def parquets() -> list[bytes]:
    found = []
    for table in [read(kept(one, scratch(), "t")) for one in (TABLES[0], TABLES[2], TABLES[8], TABLES[10], TABLES[11])]:
        write(table, scratch() / "t.parquet")
        found.append((scratch() / "t.parquet").read_bytes())
    return found


def reader_of(kind: Any) -> Feed:
    def feed(data: bytes, folder: Path) -> None:
        read(kept(data, folder, "f"), kind=kind, lenient=choice(data, False, True))

    return feed


for _kind in get_args(Kind):
    if _kind not in {"bundle", "evaluation", "both"}:  # these have targets of their own
        target(f"table-{_kind}", lambda: TABLES, *COLUMN_NAMES, *WORDS)(reader_of(_kind))


@target("table-auto", lambda: TABLES, *COLUMN_NAMES, *WORDS)
def any_table(data: bytes, folder: Path) -> None:
    """What is recognised is read, and what is read can be written and read back."""
    path = kept(data, folder, "f")
    sniff(path)
    table = read(path)
    if isinstance(table, Evaluation):
        return
    write(table, folder / "g.parquet")
    again = read(folder / "g.parquet")
    assert type(again) is type(table), "what was written is of another kind"


@target("table-packed", packed, *WORDS)
def packed_table(data: bytes, folder: Path) -> None:
    read(kept(data, folder, "f"))


@target("table-parquet", parquets, *COLUMN_NAMES)
def parquet_table(data: bytes, folder: Path) -> None:
    read(kept(data, folder, "f.parquet"))


@target("table-gzip", lambda: TABLES, *WORDS)
def gzip_table(data: bytes, folder: Path) -> None:
    read(kept(gzip.compress(data, 1, mtime=0), folder, "f"))


@target("run-blocks", lambda: TABLES[:8], *WORDS)
def run_in_blocks(data: bytes, folder: Path) -> None:
    """In blocks or as a whole: the same rows."""
    path, lenient = kept(data, folder, "f"), choice(data, False, True)
    found = pl.concat(map_blocks(path, lambda run: run.frame, lenient=lenient, size=50))
    whole = read(path, kind="run", lenient=lenient)
    assert isinstance(whole, Run) and found.height == whole.frame.height, "blocks give other rows"


def form_of(data: bytes, folder: Path) -> None:
    """What is told apart is read, or as a run, or as judgments; in blocks or as a whole: the same rows."""
    path, lenient = kept(data, folder, "f"), choice(data, False, True)
    kind: Any = choice(data[1:], "auto", "run", "qrels")
    table = read(path, kind=kind, lenient=lenient, assessors=choice(data[2:], True, False))
    if isinstance(table, Run):
        found = pl.concat(map_blocks(path, lambda run: run.frame, lenient=lenient))
        assert found.height == table.frame.height, "blocks give other rows"


RETRIEVED = ('"results"', '"retrieved_context_ids"', '"reference_context_ids"', '"relevant_ids"', '"rank"', '"score"')
target("json-document", lambda: JSONS, "mteb_model_meta", *RETRIEVED, "[", "]", "}", "{", ":", ",", *WORDS, share=ANY)(
    form_of
)
target("list-rows", lambda: LISTS, *RETRIEVED, "[", "]", "}", "{", *WORDS, share=ANY)(form_of)
target("ms-marco", lambda: MARCO, "\t", "#", "qid pid rank\n", *WORDS, share=ANY)(form_of)
target(
    "worded-qrels",
    lambda: WORDED,
    "yes",
    "no",
    "irrelevant",
    "true",
    "#",
    "qid iter docno rel\n",
    "\t",
    *WORDS,
    share=ANY,
)(form_of)
target("beir", lambda: BEIR, "query-id", "corpus-id", "score", "\t", *WORDS, share=ANY)(form_of)


@target("beir-folder", lambda: BEIR, "query-id", "corpus-id", "score", "\t", *WORDS, share=ANY)
def beir_folder(data: bytes, folder: Path) -> None:
    """A folder whose judgments, corpus and queries are anything."""
    (folder / "beir/qrels").mkdir(parents=True, exist_ok=True)
    kept(data, folder / "beir/qrels", "test.tsv")
    for name in ("corpus.jsonl", "queries.jsonl"):
        kept(data, folder / "beir", name)
    with suppress(EndoxaError):
        read_shown(folder / "beir", "item", folder / "kept")
    read(folder / "beir")


@cache
def some_run() -> Any:
    return {"q1": {"d1": 2.5, "d2": 0.5}}


@target("objects", lambda: [*JSONS, *LISTS], *RETRIEVED, "[", "]", "}", "{", ":", ",", *WORDS, share=ANY)
def objects(data: bytes, folder: Path) -> None:
    """Whatever JSON holds, given as an object of Python, and in either order."""
    from endoxa import measure

    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    for kind in ("run", "qrels", "belief", "auto"):
        with suppress(EndoxaError):
            read(value, kind=kind)  # type: ignore[arg-type]
    if not isinstance(value, str):  # a text would be a path
        measure(*choice(data, (some_run(), value), (value, some_run())), ["AP"])


CHAT = (
    b'{"id": "b", "custom_id": "q1|d1", "response": {"status_code": 200, "body": {"model": "m", "choices": '
    b'[{"message": {"content": "{\\"relevance\\": 2}", "refusal": null}, "finish_reason": "stop"}]}}, "error": null}\n'
)
JUDGED = [
    CHAT + CHAT.replace(b"q1|d1", b"q1|d2").replace(b'{\\"relevance\\": 2}', b"##final score: 1"),
    b'{"custom_id": "q|d", "response": {"body": {"model": "m", "status": "completed", "output": [{"type": "message", '
    b'"content": [{"type": "output_text", "text": "```json {\\"O\\": 1}```"}]}]}}, "error": null}\n',
    b'{"custom_id": "q|d", "result": {"type": "succeeded", "message": {"model": "m", "content": [{"type": "text", '
    b'"text": "2"}, {"type": "tool_use", "input": {"grade": 1}}], "stop_reason": "end_turn"}}}\n',
    b'{"model": "m", "query": "a", "passage": "b", "prediction": "3", "judgment": 3, "result_status": 1}\n',
    b'{"qid": "q", "docid": "d", "candidate_text": "t", "nuggets": [{"text": "n", "assignment": "support"}]}\n',
    b'[{"id": "q|d", "fields": {"query": "a", "text": "b"}, "metadata": {"query_id": "q", "doc_id": "d"}, '
    b'"responses": {}, "suggestions": {"r": {"value": 2, "agent": "m"}}}]',
    b'[{"data": {"query_id": "q", "doc_id": "d"}, "annotations": [], "predictions": [{"model_version": "m", "result": '
    b'[{"type": "choices", "value": {"choices": ["2 good"]}}]}]}]',
    b'{"instance_id": "q|d", "annotator_origin": {"kind": "llm", "model": "m"}, "labels": {"r": {"2": "2"}}}\n',
    b"query,item,grade,model,repeat,scale\nq,d,2,m,1,0-3\nq,d,1 poor,m,2,0-3\n",
    b'{"judge": "m", "query": "q", "item": "d", "repeat": 1, "grade": 1, "scale": "0-3", "reply": "1", "tokens": 7}\n',
    b"query\titem\tprobability\nq\td\t0.5\n",
    b"q Q0 d1 1\nq Q0 d2 0\n",
    b"q a d1 yes\nq b d1 no\n",
]
MARKS = (
    '"custom_id"',
    '"response"',
    '"result"',
    '"choices"',
    '"output"',
    '"content"',
    '"judgment"',
    '"nuggets"',
    '"model"',
)


@target("gradings", lambda: JUDGED, *MARKS, "[", "]", "}", "{", ":", ",", "|", "0-3", "```", *WORDS, share=ANY)
def gradings(data: bytes, folder: Path) -> None:
    """Files of machine judges; what is recognised as one is read as opinions too."""
    from endoxa.io.judge_files import read_gradings

    path = kept(data, folder, choice(data, "f", "f.jsonl", "f.csv"))
    with suppress(EndoxaError):
        if sniff(path) == "judge":
            assert set(read(path).frame["kind"]) == {"judge"}, "a machine judge is read as something else"
    found = read_gradings(path, lenient=choice(data, False, True))
    assert len(found) and found.frame["grade"].is_finite().all(), "gradings without a grade"


REQUESTED = b'{"query": {"text": "a", "qid": "q"}, "candidates": [{"doc": {"segment": "b"}, "docid": "d"}]}\n'


@target(
    "gradings-beside", lambda: [REQUESTED, b"custom_id,query,item\nq1|d1,q,d\n", b"item,text\nd,b\n"], *WORDS, share=ANY
)
def gradings_beside(data: bytes, folder: Path) -> None:
    """What names the pairs of a judge's file: requests, ids, texts of items."""
    from endoxa.io.judge_files import read_gradings

    beside = kept(data, folder, named(data, "beside"))
    texts, batch = kept(JUDGED[3], folder, "texts.jsonl"), kept(JUDGED[0], folder, "batch.jsonl")
    with suppress(EndoxaError):
        read_gradings(texts, items=beside)
    with suppress(EndoxaError):
        read_gradings([batch, beside])
    read_gradings([texts, beside])


@target("costs", lambda: [b"system,phase,items,seconds,bytes,median,p95\na,query,3,1.5,20,0.1,0.2\n"], *WORDS)
def costs(data: bytes, folder: Path) -> None:
    read_costs(kept(data, folder, "f.csv"))


NORMS = [b"word,rating\nsky,4.9\nidea,1.6\n", b"Word\tConc.M\nsky\t4.9\n"]


@target("norms", lambda: NORMS, "Conc.M", "nan", "inf", *WORDS)
def norms(data: bytes, folder: Path) -> None:
    from endoxa.io.norm_files import read_norms

    read_norms(kept(data, folder, named(data, "f")))


PAGE = b'{"text": "at Salem", "words": [["at"], ["Salem", 1, 2, 30, 40]], "size": [90, 60], "settings": {}}'


@target("page", lambda: [PAGE, b"Salem\nBoston\n"], '"words"', '"size"', "[[", "null", "1e400")
def page(data: bytes, folder: Path) -> None:
    """What a pipeline left of a page: the items that it found, and the record of its reading."""
    from endoxa.io.reading import load_texts

    for pipeline in ("otsu", "wolf"):
        records = folder / "out" / pipeline / ".read"
        records.mkdir(parents=True, exist_ok=True)
        for name in ("../1.txt", "1.json", "find"):
            (records / name).write_bytes(data)
    load_texts(folder / "out")


@target("zscores", lambda: [b"q1 map 0.5 0.1\n#2 map .2 .3\n"], *WORDS)
def zscores(data: bytes, folder: Path) -> None:
    read_zscores(str(kept(data, folder, "f")))


@cache
def evaluation_text() -> bytes:
    from endoxa import evaluate
    from endoxa.io.evaluations import write_evaluation

    found = evaluate({"s": {"q": {"a": 1.5}, "r": {"b": 1}}}, {"q": {"a": 1, "b": 0}, "r": {"a": 1}}, measures=["AP"])
    write_evaluation(found, scratch() / "e.json")
    return (scratch() / "e.json").read_bytes()


@target("evaluation", lambda: [evaluation_text(), json.dumps(json.loads(evaluation_text())).encode()], *WORDS)
def evaluation(data: bytes, folder: Path) -> None:
    """What is read can be shown."""
    from endoxa.reports import terminal

    found = read(kept(b'{"format": "endoxa-evaluation",' + data.lstrip(b"{ \n"), folder, "e.json"))
    assert isinstance(found, Evaluation)
    assert terminal is not None


# ---- bundles --------------------------------------------------------------------------------------------------


@cache
def bundle_members() -> dict[str, bytes]:
    judged = Opinions.of(pl.DataFrame({"query": ["q"], "item": ["a"], "grade": [1.0]}))
    bundle = Bundle(
        name="b", items=pl.DataFrame({"item": ["a"]}), queries=pl.DataFrame({"query": ["q"]}), opinions=judged,
        scale=(0.0, 1.0), threshold=0.0, made="2026-01-01", task="search", title="x", licence="x", screen="x",
        runs=read({"a": {"q": {"a": 1.5}}}),
    )  # fmt: skip
    write_bundle(bundle, scratch() / "b.zip")
    with zipfile.ZipFile(scratch() / "b.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


@target("bundle", lambda: [bundle_members() and zipped(bundle_members())], "PK\x01\x02", "PK\x03\x04", "PK\x05\x06")
def bundle(data: bytes, folder: Path) -> None:
    read_bundle(kept(data, folder, "b.zip"))


MEMBERS = (*sorted(READ), "bundle.json")


def member_samples() -> list[bytes]:
    """A member with its number before it."""
    return [bytes([MEMBERS.index(name)]) + content for name, content in bundle_members().items() if name in MEMBERS]


@target("bundle-member", member_samples, *COLUMN_NAMES, *WORDS)
def bundle_member(data: bytes, folder: Path) -> None:
    """A bundle whose hashes are right and whose member is anything."""
    name, content = MEMBERS[data[0] % len(MEMBERS) if data else 0], data[1:]
    members = {**bundle_members(), name: content}
    try:
        manifest = json.loads(members.pop("bundle.json"))
        manifest["members"] = {
            name: {"sha256": sha256(content).hexdigest(), "bytes": len(content)} for name, content in members.items()
        }
        members["bundle.json"] = json.dumps(manifest).encode()
    except (ValueError, TypeError, RecursionError):
        members["bundle.json"] = content
    read_bundle(kept(zipped(members), folder, "b.zip"))


# ---- studies, corpora, texts ----------------------------------------------------------------------------------

STUDY = b'name = "shapes"\nscreen = "one-result"\nruns = ["*.run"]\nitems = "items.csv"\noverlap = 2\n'


@target(
    "study", lambda: [STUDY, b'name="a"\n[x]\ny=1979-05-27\n'], "screen", "queries", "practice", "gold", "**", "1e9"
)
def study(data: bytes, folder: Path) -> None:
    kept(RUN, folder, "a.run")
    kept(b"item,text\na,b\n", folder, "items.csv")
    read_study(kept(data, folder, "study.toml"))


SHOWN = [b"item,text\na,hello\nb,world\n", b"id,file\na,p.png\n", b'{"item":1,"text":"x"}\n{"item":2.5,"text":"y"}\n']
KNOWN = [b"query,item,expected\nq,a,1\n", b"query,item,propensity\nq,a,0.5\n", b"item,category\na,b\n"]


@target("study-shown", lambda: SHOWN, *WORDS)
def study_shown(data: bytes, folder: Path) -> None:
    read_shown(kept(data, folder, named(data, "f")), "item", folder / "kept")


@target("study-known", lambda: KNOWN, *WORDS)
def study_known(data: bytes, folder: Path) -> None:
    read_known(kept(data, folder, named(data, "f")), has_query=b"query" in data)


@target("study-pairs", lambda: KNOWN, *WORDS)
def study_pairs(data: bytes, folder: Path) -> None:
    read_pairs(kept(data, folder, named(data, "f")))


MANIFEST = [
    b"path,item,words,category,caption\np.png,a,red bird,animals/birds,A red bird\n",
    b'{"path":"p.png","words":["polar bear"],"mask":"p.png"}\n',
]


@target("manifest", lambda: MANIFEST, "..", "~", "/etc/passwd", "C:\\", *WORDS)
def manifest(data: bytes, folder: Path) -> None:
    """No picture lies outside the folder."""
    kept(b"", folder, "p.png")
    corpus = read_corpus(kept(data, folder, named(data, "m")))
    for path in corpus.frame["path"]:
        assert (folder / path).resolve().is_relative_to(folder.resolve()), f"{path!r} lies elsewhere"


@target("caption", lambda: [b"An owl, on a branch.\nde.utf8=Eine Eule\n"], "de.utf8=", "'s", "\u2028")
def caption(data: bytes, folder: Path) -> None:
    from endoxa.images.corpus import words_of
    from endoxa.io.scene_files import named

    kept(data, folder, "c.txt")
    text = caption_of(folder, "c.txt", choice(data, "", "de"), [])
    if text:
        words_of(text)
        named(text)


@target("texts", lambda: [b"to be or not\nNew York\n", gzip.compress(b"to be", mtime=0)], *WORDS)
def texts(data: bytes, folder: Path) -> None:
    places = [kept(data, folder, "a.txt"), kept(b"to be or\n", folder, "b.txt")]
    read_texts(places, lines=choice(data, False, True))


@target("questions", lambda: [b"q1\tred car\nq2\tblue\n", b"red car\n"], *WORDS)
def questions(data: bytes, folder: Path) -> None:
    read_questions(kept(data, folder, "q.txt"))


# ---- vectors and what is kept beside pictures -----------------------------------------------------------------


def _vectors(suffix: str) -> bytes:
    write_vectors(scratch() / f"v{suffix}", ["a", "b"], [[1.0, 2.0], [3.0, 4.5]])
    return (scratch() / f"v{suffix}").read_bytes()


@target("vectors", lambda: [_vectors(".npz"), _vectors(".npy"), _vectors(".parquet")], "descr", "fortran_order", "|O")
def vectors(data: bytes, folder: Path) -> None:
    kept(b"a\nb\n", folder, "v.items.txt")
    suffix = ".parquet" if data[:4] == b"PAR1" else ".npz" if data[:2] == b"PK" else ".npy"
    read_vectors(kept(data, folder, f"v{suffix}"))


@target("vectors-member", lambda: [_vectors(".npy")], "descr", "<f4", "|O8", "<U99", "(2, 2)", "'shape': (", "True")
def vectors_member(data: bytes, folder: Path) -> None:
    """A zip of arrays whose checksums are right."""
    names = io.BytesIO()
    np.save(names, np.array(["a", "b"]))
    members = {"items.npy": names.getvalue(), "vectors.npy": data}
    read_vectors(kept(zipped(members), folder, "v.npz"))


@cache
def index_files() -> dict[str, bytes]:
    """An index of three pictures, by its files."""
    from endoxa.engines import Material, Saved
    from endoxa.engines.keywords import Keywords
    from endoxa.io import indexes

    engine = Keywords()
    material = Material(("a", "b", "c"), (("red",), ("blue",), ("red", "blue")), {}, np.zeros(0, np.int64))
    indexes.save(Saved(engine.build(material), {"a": "1"}, {"endoxa": "1"}), scratch() / "i")
    return {path.name: path.read_bytes() for path in (scratch() / "i").iterdir()}


def index_samples() -> list[bytes]:
    return [bytes([at]) + content for at, (_, content) in enumerate(sorted(index_files().items()))]


@target("index", index_samples, "descr", "format", "settings", "|O", "1e999", "[]", "{}")
def index(data: bytes, folder: Path) -> None:
    """An index one of whose files is anything."""
    from endoxa.io import indexes

    files = sorted(index_files().items())
    changed = files[data[0] % len(files) if data else 0][0]
    place = folder / "i"
    place.mkdir(exist_ok=True)
    for name, content in files:
        kept(data[1:] if name == changed else content, place, name)
    indexes.load(place, patience=0)


@cache
def feature_files() -> dict[str, bytes]:
    """The features of three pictures, by their files."""
    from endoxa.engines import Material
    from endoxa.images import Picture
    from endoxa.io import search_features
    from endoxa.searches.describing import features_of

    rng = np.random.default_rng(0)
    pictures = [Picture(rng.integers(0, 255, (40, 40, 3), dtype=np.uint8)) for _ in range(3)]
    materials = []
    for descriptor in search_features._descriptors(network=False):
        rows = [descriptor.describe(picture) for picture in pictures]
        columns = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
        materials.append(Material(("a", "b", "c"), (("x",),) * 3, columns, np.ones(3, np.int64)))
    features = features_of(materials, source="", digests={"a": "1", "b": "2", "c": "3"}, skipped=())
    stored = search_features.Stored(features, {"a": "1"}, {"look": "", "descriptors": {}})
    search_features.save(stored, scratch() / "f")
    return {path.name: path.read_bytes() for path in (scratch() / "f").iterdir()}


def feature_samples() -> list[bytes]:
    return [bytes([at]) + content for at, (_, content) in enumerate(sorted(feature_files().items()))]


@target("features", feature_samples, "descr", "format", "taus", "metrics", "|O", "1e999", "[]", "{}")
def features(data: bytes, folder: Path) -> None:
    """Features one of whose files is anything."""
    from endoxa.io import search_features

    files = sorted(feature_files().items())
    changed = files[data[0] % len(files) if data else 0][0]
    place = folder / "s"
    place.mkdir(exist_ok=True)
    for name, content in files:
        kept(data[1:] if name == changed else content, place, name)
    search_features.load(place)


@target("sheets", lambda: [_sheet()], "place", "cell", "shown")
def sheets(data: bytes, folder: Path) -> None:
    from endoxa.io.search_maps import Sheets

    kept(data, folder, "top.parquet")
    Sheets(folder).get(())


def _sheet() -> bytes:
    write_frame(pl.DataFrame({"place": [0, 1], "cell": [0, 0], "shown": [True, False]}), scratch() / "s.parquet")
    return (scratch() / "s.parquet").read_bytes()


def weight_samples() -> list[bytes]:
    from endoxa.io.efficientnet import MAGIC, PROTOCOL

    head = [MAGIC, PROTOCOL, {"little_endian": True}, {}, []]
    return [b"".join(pickle.dumps(part, 2) for part in head) + struct.pack("<q", 0)]


@target(
    "weights", weight_samples, "c__builtin__\neval\n", "ctorch._utils\n_rebuild_tensor_v2\n", "ctorch\nFloatStorage\n"
)
def weights(data: bytes, _: Path) -> None:
    from endoxa.io.efficientnet import weights_of

    weights_of(data, "weights")


# ---- pictures -------------------------------------------------------------------------------------------------


def picture_samples() -> list[bytes]:
    from PIL import Image

    rng = np.random.default_rng(0)
    small = Image.fromarray(rng.integers(0, 255, (9, 7, 3), dtype=np.uint8))
    found = []
    for form, mode in (
        ("JPEG", "RGB"), ("JPEG", "CMYK"), ("PNG", "RGBA"), ("PNG", "P"), ("PNG", "I;16"), ("GIF", "P"),
        ("WEBP", "RGB"), ("BMP", "RGB"), ("TIFF", "RGB"), ("TIFF", "F"), ("TIFF", "1"), ("PPM", "L"),
    ):  # fmt: skip
        stream = io.BytesIO()
        small.convert("L" if mode == "I;16" else mode).convert(mode).save(stream, form)
        found.append(stream.getvalue())
    return found


PICTURE = 700 * MEGABYTE  # a picture of 100 million pixels is allowed, however small its file


@target(
    "picture",
    picture_samples,
    "IHDR",
    "IDAT",
    "tRNS",
    "acTL",
    "Exif\0\0",
    "GIF89a",
    "RIFF",
    "P6 9 9 255 ",
    floor=PICTURE,
)
def picture(data: bytes, folder: Path) -> None:
    from endoxa.io.decoding import decode, thumbnail

    found = decode(data, side=choice(data, 64, 1024, None))
    height, width = found.shape
    assert height and width
    thumbnail(found, 32)


def sketch_samples() -> list[bytes]:
    from PIL import Image

    found = []
    for mode in ("RGBA", "RGB", "P", "LA", "1"):
        stream = io.BytesIO()
        Image.new(mode, (256, 256)).save(stream, "PNG")
        found.append(stream.getvalue())
    return found


@target("sketch", sketch_samples, "IHDR", "IDAT", "tRNS", "PLTE", "iCCP", "tEXt")
def sketch(data: bytes, _: Path) -> None:
    from endoxa.io.sketch_files import read_sketch

    _, png = read_sketch(data)
    assert read_sketch(png)[1] == png, "the copy of a sketch is not what it is"


@target("mask", picture_samples, "IHDR", "IDAT", floor=PICTURE)
def mask(data: bytes, folder: Path) -> None:
    from endoxa.io.scene_files import truth

    truth(kept(data, folder, "m.png"))


ELEMENT = (
    b'<definition><names><name lang="en">Lamp</name></names><description>'
    b'<line x1="0" y1="1" x2="2" y2="3" style="line-weight:normal;color:black"/>'
    b'<rect x="0" y="0" width="9" height="9"/><ellipse x="0" y="0" width="9" height="5"/>'
    b'<circle x="0" y="0" diameter="9"/><arc x="0" y="0" width="9" height="9" start="0" angle="90"/>'
    b'<polygon x1="0" y1="0" x2="3" y2="0" x3="1" y3="9" closed="false"/></description></definition>'
)


@target("symbol", lambda: [ELEMENT], "<!DOCTYPE", "<!ENTITY", "encoding=", "1e308", "-1e6", "nan", "filling:white")
def symbol(data: bytes, _: Path) -> None:
    from endoxa.images.strokes import draw
    from endoxa.io.symbols import element_of

    draw(element_of(data).strokes)


DRAWING = (
    b"<svg><metadata><rdf:RDF><cc:Work><dc:title>Owl</dc:title><dc:subject><rdf:Bag><rdf:li>bird</rdf:li></rdf:Bag>"
    b"</dc:subject><dc:creator><cc:Agent><dc:title>Ann</dc:title></cc:Agent></dc:creator></cc:Work></rdf:RDF></metadata>"
)


@target("drawing", lambda: [DRAWING], "<rdf:RDF>", "</rdf:RDF>", "HASH(0x8a2f)", "<!ENTITY", "unsorted")
def drawing(data: bytes, _: Path) -> None:
    from endoxa.io.clip_art import notes_of

    notes_of(data)


# ---- what people type -----------------------------------------------------------------------------------------


@target(
    "measure", lambda: [b"nDCG@10", b"P(rel=2)@5", b"ERR(max=4, form=a)", b"map"], "(", ")", "@", "=", "rel", "\u00b2"
)
def measure(data: bytes, _: Path) -> None:
    """A measure that was parsed prints as what parses to it again."""
    from endoxa.measures.grammar import parse

    found = parse(data.decode("utf-8", "replace"))
    assert parse(str(found)) == found, "a measure is printed as another"


COMMANDS = (
    "eval", "compare", "report", "next", "estimate", "believe", "measure", "ratings", "pool", "check", "explain",
    "read", "write", "fuse",
)  # fmt: skip
CALLS = [
    "eval q.qrels a.run nDCG@10", "eval a.run b.run", "compare q.qrels a.run b.run AP", "read f -o jsonl",
    "check q.qrels a.run", "explain nDCG", "pool a.run b.run --depth 2", "measure q.qrels f AP",
    "write f --to g.parquet", "fuse a.run f --to g.run", "believe a.run b.run --to b.parquet", "next a.run b.run -n 2",
    "estimate f a.run b.run AP --belief b.parquet",
    "ratings f",
    "report q.qrels a.run --to page.html", "eval f a.run --seed 3 -o tsv", "eval --compat q.qrels f map",
]  # fmt: skip


def calls() -> list[bytes]:
    return [f"{call}\n".encode() + table for call in CALLS for table in (TABLES[0], TABLES[2], TABLES[5])]


def words_of_call(line: str) -> list[str]:
    """The words of a call that may name only files of this folder, and only commands that end soon."""
    words = [word.replace("/", "").replace("..", "").lstrip("~") for word in line.split()[:12]]
    return words if words and words[0] in COMMANDS else ["eval", *words]


@target("command-line", calls, *COMMANDS, *WORDS, "--seed", "-o", "jsonl", "--to", "nDCG@10", "--help", share=0.05,
        floor=256 * MEGABYTE)  # fmt: skip
def command_line(data: bytes, folder: Path) -> None:
    """The first line has the words, the rest is the file f. Nothing but codes 0 to 2, and no traceback."""
    from endoxa import cli

    line, _, content = data.partition(b"\n")
    words, folder = words_of_call(line.decode("utf-8", "replace")), folder / "call"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in (("f", content), ("a.run", RUN), ("b.run", RUN.replace(b"d1", b"d3")), ("q.qrels", TABLES[2])):
        kept(text, folder, name)
    before, argv, stdin, log = Path.cwd(), sys.argv, sys.stdin, io.StringIO()
    os.chdir(folder)
    try:
        sys.argv, sys.stdin = ["endoxa", *words], io.TextIOWrapper(io.BytesIO(content))
        with redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")), redirect_stderr(log):
            cli.main()
    except SystemExit as end:
        assert end.code in {None, 0, 1, 2}, f"exit code {end.code}"
    finally:
        os.chdir(before)
        sys.argv, sys.stdin = argv, stdin
    assert "Traceback" not in log.getvalue(), "a traceback is shown"
