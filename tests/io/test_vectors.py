from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vector_samples import write_vectors

from endoxa.errors import FileError
from endoxa.io.vectors import read_vectors

ROWS = np.array([[1, 2, 3], [4, 5.5, -6]], np.float32)
NAMES = ("animals/cat", "Ölbaum 007")
SUFFIXES = ("parquet", "npz", "npy")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_of_each_format(tmp_path, suffix):
    path = tmp_path / f"clip.v2.{suffix}"
    write_vectors(path, NAMES, ROWS.astype(np.float64))
    items, vectors = read_vectors(str(path))
    assert items == NAMES
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, ROWS)


names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(names, min_size=1, max_size=5, unique=True), st.integers(1, 4), st.data(), st.sampled_from(SUFFIXES))
def test_any_names_and_numbers(tmp_path_factory, items, width, data, suffix):
    rows = [data.draw(st.lists(numbers, min_size=width, max_size=width)) for _ in items]
    path = tmp_path_factory.mktemp("any") / f"v.{suffix}"
    write_vectors(path, items, rows)
    found, vectors = read_vectors(path)
    assert found == tuple(items)
    np.testing.assert_array_equal(vectors, np.array(rows, np.float32))


def test_parquet_of_lists_arrays_and_columns(tmp_path):
    path = tmp_path / "v.parquet"
    lists = [[1.0, 2.0, 3.0], [4.0, 5.5, -6.0]]
    frames = [
        pl.DataFrame({"item": NAMES, "vector": lists, "caption": ["a", "b"]}),
        pl.DataFrame({"embedding": lists, "doc_id": NAMES}),  # another name, and other tools' word for the item
        pl.DataFrame({"item": NAMES, "vector": pl.Series(lists, dtype=pl.Array(pl.Float64, 3))}),
        pl.DataFrame({"item": NAMES, "x": [1, 4], "y": [2.0, 5.5], "z": [3, -6]}),
        pl.DataFrame({"z1": [1, 4], "item": pl.Series(NAMES, dtype=pl.Categorical), "a": [2.0, 5.5], "b": [3, -6]}),
    ]
    for frame in frames:
        frame.write_parquet(path)
        items, vectors = read_vectors(path)
        assert items == NAMES
        np.testing.assert_array_equal(vectors, ROWS)


def test_parquet_of_another_library(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"item": pa.array(NAMES), "vector": pa.array(ROWS.tolist())}), tmp_path / "v.parquet")
    np.testing.assert_array_equal(read_vectors(tmp_path / "v.parquet")[1], ROWS)


def test_names_of_bytes_and_numbers(tmp_path):
    path = tmp_path / "v.npz"
    np.savez(path, items=np.array([name.encode() for name in NAMES]), vectors=ROWS.astype(np.float16))
    assert read_vectors(path)[0] == NAMES
    np.savez_compressed(path, items=np.array([7, 12]), vectors=np.array([[1], [2]]), more=np.zeros(3))
    assert read_vectors(path)[0] == ("7", "12")
    pl.DataFrame({"item": [7, 12], "x": [1, 2]}).write_parquet(tmp_path / "v.parquet")
    assert read_vectors(tmp_path / "v.parquet")[0] == ("7", "12")


def test_names_beside_with_the_ends_of_windows(tmp_path):
    np.save(tmp_path / "v.npy", ROWS)
    (tmp_path / "v.items.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo words\r\n\r\n")
    assert read_vectors(tmp_path / "v.npy")[0] == ("one", "two words")


def parquet(**columns):
    return "parquet", lambda path: pl.DataFrame(columns).write_parquet(path)


def npz(**arrays):
    return "npz", lambda path: np.savez(path, **arrays)


def npy(rows, lines):
    def write(path):
        np.save(path, rows)
        if lines is not None:
            path.with_name("v.items.txt").write_bytes(lines)

    return "npy", write


def raw(suffix, content):
    return suffix, lambda path: path.write_bytes(content)


def header(content):
    return raw("npy", b"\x93NUMPY\x01\x00" + len(content).to_bytes(2, "little") + content)


TWO = np.array(["a", "b"])
FAULTS = {
    "no item": (parquet(name_=["a"], vector=[[1.0]]), "has no column 'item'; its columns are name_, vector; name"),
    "no vectors": (parquet(item=["a"]), "items but no vectors; add a column `vector`"),
    "null item": (parquet(item=["a", None], x=[1, 2]), "row 2: item is missing"),
    "items of floats": (parquet(item=[1.5], x=[1]), "column 'item' holds Float64, expected texts"),
    "vector of texts": (parquet(item=["a"], vector=["1 2"]), "holds String, expected lists of numbers"),
    "lists of texts": (parquet(item=["a"], vector=[["1", "2"]]), "expected lists of numbers"),
    "lists of lists": (parquet(item=["a"], vector=[[[1, 2]]]), "expected lists of numbers"),
    "two lists": (
        parquet(item=["a"], u=[[1]], v=[[1]]),
        r"column 'u' holds List\(Int64\), expected numbers; .*`vector`",
    ),
    "a column of texts": (parquet(item=["a"], x=[1], caption=["b"]), "column 'caption' holds String.*leave it out"),
    "null number": (parquet(item=["a", "b"], x=[1, 2], y=[1, None]), "row 2: y is missing"),
    "null in a list": (parquet(item=["a", "b"], vector=[[1, 2], [3, None]]), "row 2: a number is missing"),
    "null list": (parquet(item=["a", "b"], vector=[[1, 2], None]), "row 2: the vector is missing, expected 2"),
    "uneven": (parquet(item=list("abc"), vector=[[1], [1, 2], [3, 4]]), "row 1: the vector has 1 numbers, expected 2"),
    "empty lists": (parquet(item=["a"], vector=pl.Series([[]], dtype=pl.List(pl.Float32))), "there are no vectors"),
    "all null": (
        parquet(item=["a"], vector=pl.Series([None], dtype=pl.List(pl.Float32))),
        "row 1: the vector is missing",
    ),
    "no rows": (parquet(item=pl.Series([], dtype=pl.String), x=pl.Series([], dtype=pl.Int8)), "there are no vectors"),
    "nan": (parquet(item=["a", "b"], vector=[[1.0, 2.0], [1.0, float("nan")]]), r"row 2 \(item 'b'\): number 2 is nan"),
    "not parquet": (raw("parquet", b"PAR1 nonsense"), "cannot be read as parquet"),
    "empty parquet": (raw("parquet", b""), "cannot be read as parquet"),
    "infinite": (npz(items=TWO, vectors=[[1, np.inf], [1, 1]]), r"row 1 \(item 'a'\): number 2 is inf"),
    "too large": (
        npz(items=TWO, vectors=[[1, 1], [1e300, 1]]),
        r"row 2 .*number 1 is 1e\+300, expected a finite float32",
    ),
    "twice": (npz(items=["a", "b", "a"], vectors=np.ones((3, 2))), "rows 1 and 3 are both of item 'a'.*remove one"),
    "nameless": (npz(items=["a", ""], vectors=np.ones((2, 2))), "row 2 has no name"),
    "too few": (npz(items=TWO, vectors=np.ones((3, 2))), "2 items and 3 vectors, expected as many"),
    "flat": (npz(items=TWO, vectors=np.ones(2)), "have the shape 2, expected rows × numbers"),
    "cube": (npz(items=TWO, vectors=np.ones((2, 3, 4))), "have the shape 2 × 3 × 4, expected"),
    "no such array": (npz(names=TWO, vectors=np.ones((2, 2))), "has no array 'items'; its arrays are names, vectors"),
    "texts": (npz(items=TWO, vectors=np.array([["1"], ["2"]])), "are of type <U1, expected real numbers"),
    "complex": (npz(items=TWO, vectors=np.ones((2, 2), complex)), "type complex128, expected real"),
    "truths": (npz(items=TWO, vectors=np.ones((2, 2), bool)), "type bool, expected real"),
    "table of names": (npz(items=[["a"], ["b"]], vectors=np.ones((2, 2))), "items are 2-dimensional"),
    "wrong bytes": (npz(items=np.array([b"\xff", b"a"]), vectors=np.ones((2, 2))), "cannot be read as npz"),
    "not npz": (raw("npz", b"PK\x03\x04 nonsense"), "cannot be read as npz"),
    "not npy": (raw("npy", b"\x93NUMPY"), "cannot be read as npy"),
    "keys of two types": (
        header(b"{b'descr': '<f4', 'fortran_order': False, 'shape': (0, 2)}"),
        "cannot be read as npy",
    ),
    "no type": (header(b"{'descr': (), 'fortran_order': False, 'shape': (0, 2)}"), "cannot be read as npy"),
    "empty npy": (raw("npy", b""), "cannot be read as npy"),
    "no names beside": (npy(np.ones((2, 2)), None), r"v\.items\.txt: is missing; it holds the items of v\.npy"),
    "blank line": (npy(np.ones((3, 2)), b"a\n\nb\n"), r"v\.items\.txt:2: the line is empty"),
    "not utf-8": (npy(np.ones((1, 2)), b"\xff\n"), r"v\.items\.txt: is not UTF-8"),
    "one number": (npy(np.float32(3), b"a\n"), "shape a single number"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_named_with_file_and_remedy(tmp_path, fault):
    (suffix, write), message = FAULTS[fault]
    path = tmp_path / f"v.{suffix}"
    write(path)
    with pytest.raises(FileError, match=message) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(str(tmp_path / "v."))
    assert ";" in str(caught.value)


def test_objects_are_never_unpickled(tmp_path):
    class Evil:
        def __reduce__(self):
            return (tmp_path / "made").mkdir, ()

    objects = np.empty((1, 1), object)
    objects[0, 0] = Evil()
    np.save(tmp_path / "v.npy", objects, allow_pickle=True)
    (tmp_path / "v.items.txt").write_text("a\n")
    np.savez(tmp_path / "v.npz", items=objects[0], vectors=np.ones((1, 1)))
    (tmp_path / "w.npy").write_bytes(pickle.dumps(Evil()))
    (tmp_path / "w.npz").write_bytes(pickle.dumps(Evil()))
    for name in ("v.npy", "v.npz", "w.npy", "w.npz"):
        with pytest.raises(FileError, match=r"cannot be read as np[yz] .*names as texts"):
            read_vectors(tmp_path / name)
    assert not (tmp_path / "made").exists()


def test_an_array_that_is_called_npz(tmp_path):
    np.save(tmp_path / "v.npy", ROWS)
    (tmp_path / "v.npy").rename(tmp_path / "v.npz")
    with pytest.raises(FileError, match=r"is a single array, expected \.npz; rename it"):
        read_vectors(tmp_path / "v.npz")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_not_there(tmp_path, suffix):
    with pytest.raises(FileError, match=rf"none\.{suffix}: there is no such file"):
        read_vectors(tmp_path / f"none.{suffix}")


def test_a_name_that_says_no_format(tmp_path):
    with pytest.raises(FileError, match=r"v\.csv: is not named as a file of vectors; expected \.parquet, \.npz"):
        read_vectors(tmp_path / "v.csv")
