from __future__ import annotations

import colorsys
import math
from collections import Counter

import numpy as np
import pytest
from scipy.signal import fftconvolve

from endoxa.engines import Material
from endoxa.engines.histogram_features import (
    COLOURS,
    NOTHING,
    HistogramFeatures,
    banded,
    block_counts,
    block_energies,
    modes,
    quantised,
    shares,
    texture_histogram,
)
from endoxa.engines.histograms import GROUPS, Histograms, intersected, inverse_frequencies
from endoxa.errors import TableError, TextError
from endoxa.images import Picture


def drawn(seed: int, shape: tuple[int, int] = (60, 80)) -> Picture:
    """Some coloured boxes and stripes."""
    rng = np.random.default_rng(seed)
    pixels = np.full((*shape, 3), rng.integers(0, 256, 3), np.uint8)
    for _ in range(6):
        y, x = rng.integers(0, shape[0]), rng.integers(0, shape[1])
        pixels[y : y + 25, x : x + 30 : rng.integers(1, 4)] = rng.integers(0, 256, 3)
    return Picture(pixels)


def described(pictures: list[Picture], descriptor: HistogramFeatures | None = None) -> Material:
    rows = [(descriptor or HistogramFeatures()).describe(picture) for picture in pictures]
    columns = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
    names = tuple(f"p{i}" for i in range(len(pictures)))
    return Material(names, tuple(() for _ in names), columns, np.ones(len(pictures), np.int64))


def colour_by_colorsys(red: int, green: int, blue: int) -> int:
    parts = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
    # Hue, saturation and value are bytes before they are colours; nine digits keep exact halves halves.
    hue, saturation, value = (round(round(part * 255, 9)) for part in parts)

    def part_of(byte: int, bins: int) -> int:
        # An edge (a third of 255 is a byte) belongs to the bin below: GIFT multiplies by .99999999.
        return max(0, (byte * bins - 1) // 255)

    if hue == 0 and saturation == 0:
        return 162 + part_of(value, 4)
    return part_of(hue, 18) + 18 * part_of(saturation, 3) + 54 * part_of(value, 3)


def test_the_quantiser_agrees_with_colorsys_on_all_coarse_colours() -> None:
    steps = np.rint(np.arange(32) * 255 / 31).astype(np.uint8)
    colours = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(128, 256, 3)
    expected = [colour_by_colorsys(*(int(part) for part in colour)) for colour in colours.reshape(-1, 3)]
    assert quantised(colours).ravel().tolist() == expected
    assert len(set(expected)) > 150


@pytest.mark.parametrize(
    ("colour", "code"),
    [
        ((0, 0, 0), 162),
        ((255, 255, 255), 165),
        ((128, 128, 128), 164),
        ((127, 127, 127), 163),
        ((255, 0, 0), 0 + 18 * 2 + 54 * 2),
        ((0, 255, 0), 5 + 18 * 2 + 54 * 2),  # hue byte 85, a third: the bin below
        ((0, 0, 255), 11 + 18 * 2 + 54 * 2),
        ((255, 170, 170), 0 + 18 * 0 + 54 * 2),  # saturation 85/255: the bin below
        ((0, 0, 85), 11 + 18 * 2 + 54 * 0),
        ((254, 254, 255), 11 + 18 * 0 + 54 * 2),  # faint, but no grey
    ],
)
def test_named_colours(colour: tuple[int, int, int], code: int) -> None:
    assert quantised(np.array([[colour]], np.uint8))[0, 0] == code


def test_modes_of_blocks_by_brute_force() -> None:
    rng = np.random.default_rng(3)
    colours = rng.integers(0, 6, (256, 256)).astype(np.uint8)
    opaque = rng.random((256, 256)) < 0.02  # few pixels, so that colours tie
    opaque[32:64, 64:96] = False
    expected = []
    for size in (16, 32, 64, 128):
        for y in range(0, 256, size):
            for x in range(0, 256, size):
                inside = opaque[y : y + size, x : x + size]
                held = Counter(colours[y : y + size, x : x + size][inside].tolist())
                expected.append(min(held, key=lambda colour: (-held[colour], colour)) if held else NOTHING)
    found = modes(block_counts(colours, opaque))
    assert found.tolist() == expected
    assert NOTHING in expected


def test_gabor_energies_against_full_kernels() -> None:
    values = np.random.default_rng(5).integers(0, 256, (256, 256)).astype(np.uint8)
    values[:128, :128] = 200
    found = block_energies(values)
    at = 0
    for scale, size in enumerate((9, 17, 35)):
        u = 0.5 / (1 + 1 / 3) / 2**scale
        sigma = 3 * math.sqrt(2 * math.log(2)) / (2 * math.pi * u)
        x = np.arange(size) - size // 2
        for angle in (0, 45, 90, 135):
            along, down = u * math.cos(math.radians(angle)), u * math.sin(math.radians(angle))
            wave = np.cos(2 * math.pi * (along * x[None, :] + down * x[:, None]))
            bell = np.exp(-(x[None, :] ** 2 + x[:, None] ** 2) / (2 * sigma**2)) / (2 * math.pi * sigma**2)
            answer = fftconvolve(values.astype(float), wave * bell, mode="same")
            energy = np.sqrt((answer**2).reshape(16, 16, 16, 16).mean(axis=(1, 3))).ravel()
            np.testing.assert_allclose(found[at], energy, rtol=1e-3, atol=1e-3)
            at += 1


def test_a_filter_answers_its_own_grating() -> None:
    x = np.arange(256)
    rows = np.rint(127 + 100 * np.cos(2 * math.pi * 0.1875 * x)).astype(np.uint8)
    upright = block_energies(np.tile(rows, (256, 1))).mean(1)
    lying = block_energies(np.tile(rows, (256, 1)).T.copy()).mean(1)
    assert upright.argmax() == 4  # the middle scale at 0°
    assert lying.argmax() == 6  # and at 90°


def test_edges_of_bands_belong_to_the_band_above() -> None:
    energies = np.array([0, 1.999, 2, 2.999, 3, 4, 5, 6, 7, 8, 8.999, 9, 9.999, 10, 1e5])
    assert banded(energies).tolist() == [0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 7, 8, 8, 9, 9]


def test_shares_are_255ths() -> None:
    assert shares(np.array([1, 1, 0, 2])).tolist() == [64, 64, 0, 128]  # 63.75, 127.5 to the even
    bands = np.array([[0, 0, 0, 9], [1, 1, 1, 1]], np.uint8)
    assert texture_histogram(bands).tolist() == [191, *[0] * 8, 64, 0, 255, *[0] * 8]


def test_only_opaque_pixels_count() -> None:
    pixels = np.full((256, 256, 3), 255, np.uint8)
    pixels[:64, :64] = (255, 0, 0)
    mask = np.zeros((256, 256), bool)
    mask[:64, :64] = True
    on_white, opaque = (HistogramFeatures(how).describe(Picture(pixels, mask)) for how in ("white", "opaque"))
    assert on_white["colour_histogram"][0, 165] == round(255 * 15 / 16)
    assert opaque["colour_histogram"][0].nonzero()[0].tolist() == [144]
    assert (opaque["colour_blocks"][0, :256].reshape(16, 16)[:4, :4] == 144).all()
    assert (opaque["colour_blocks"] == NOTHING).sum() == 340 - 16 - 4 - 1 - 1
    assert (opaque["texture_blocks"] == NOTHING).sum() == 12 * (256 - 16)
    assert (on_white["texture_blocks"] <= 9).all()
    assert opaque["texture_histogram"].reshape(12, 10).sum(1).tolist() == pytest.approx([255] * 12, abs=5)


ODD = [
    Picture(np.zeros((1, 1, 3), np.uint8)),
    Picture(np.full((5, 700, 3), 255, np.uint8)),
    Picture(np.full((40, 30, 3), 99, np.uint8), np.zeros((40, 30), bool)),
    Picture(np.full((300, 2, 3), (10, 200, 30), np.uint8), np.ones((300, 2), bool)),
]


@pytest.mark.parametrize("background", ["white", "opaque"])
@pytest.mark.parametrize("picture", ODD)
def test_odd_pictures_are_described(picture: Picture, background: str) -> None:
    row = HistogramFeatures(background).describe(picture)
    widths = {"colour_histogram": 166, "colour_blocks": 340, "texture_histogram": 120, "texture_blocks": 3072}
    assert {name: column.shape for name, column in row.items()} == {name: (1, width) for name, width in widths.items()}
    assert all(column.dtype == np.uint8 for column in row.values())
    assert row["colour_histogram"].sum() > 0


def features_of(material: Material, at: int, group: str) -> dict[tuple[int, int], float]:
    """What GIFT writes into a picture's feature file: a feature and its frequency."""
    row = material.columns[group][at]
    if group == "colour_blocks":
        return {(block, int(code)): 1.0 for block, code in enumerate(row) if code != NOTHING}
    if group == "texture_blocks":
        return {(block, int(code)): 1.0 for block, code in enumerate(row) if code not in {0, NOTHING}}
    return {(0, place): int(share) / 255 for place, share in enumerate(row) if share}


def gift(collection: Material, queries: Material, groups: tuple[str, ...]) -> list[list[float]]:
    """Classical IDF written out: sums over the features that query and document have in common."""
    table = []
    for q in range(len(queries)):
        totals = [0.0] * len(collection)
        for group in groups:
            asked = features_of(queries, q, group)
            documents = [features_of(collection, i, group) for i in range(len(collection))]

            def weight(
                feature: tuple[int, int], group: str = group, documents: list[dict[tuple[int, int], float]] = documents
            ) -> float:
                if group.endswith("histogram"):
                    return 1.0
                held = sum(feature in document for document in documents)
                return math.log(held / len(documents)) ** 2 if held else 0.0

            own = sum(weight(feature) * frequency for feature, frequency in asked.items())
            for i, document in enumerate(documents):
                gained = sum(weight(f) * min(asked[f], document[f]) for f in asked.keys() & document.keys())
                totals[i] += gained / own if own else 0.0
        table.append([total / len(groups) for total in totals])
    return table


@pytest.mark.parametrize("background", ["white", "opaque"])
@pytest.mark.parametrize("features", ["all", "colour", "texture"])
def test_scores_by_brute_force(features: str, background: str) -> None:
    descriptor = HistogramFeatures(background)
    half = np.zeros((60, 80), bool)
    half[10:40, 20:50] = True
    pictures = [drawn(seed) for seed in range(4)] + [Picture(drawn(4).pixels, half), ODD[1]]
    collection = described(pictures, descriptor)
    queries = described([drawn(2), drawn(77), Picture(drawn(9).pixels, half), ODD[2]], descriptor)
    engine = Histograms(features, background)
    found = engine.score(engine.build(collection), queries)
    np.testing.assert_allclose(found, gift(collection, queries, GROUPS[features]), rtol=0, atol=1e-9)
    assert ((found >= 0) & (found <= 1 + 1e-12)).all()
    assert found[0, 2] == pytest.approx(1)
    assert found[0].argmax() == 2


def test_many_queries_score_as_each_alone() -> None:
    collection = described([drawn(seed) for seed in range(3)])
    engine = Histograms()
    index = engine.build(collection)
    many = engine.score(index, collection.take([i % 3 for i in range(150)]))
    alone = np.concatenate([engine.score(index, collection.take([i])) for i in range(3)])
    np.testing.assert_array_equal(many, np.tile(alone, (50, 1)))


def test_weights_come_from_train() -> None:
    collection, train = described([drawn(0), drawn(1)]), described([drawn(seed) for seed in range(5)])
    engine = Histograms("colour")
    weights = engine.build(collection, train=train).arrays["colour_blocks"]
    np.testing.assert_array_equal(weights, inverse_frequencies(train.columns["colour_blocks"], COLOURS))
    assert set(engine.build(collection).arrays) == {"colour_blocks"}


def test_inverse_frequencies_by_hand() -> None:
    codes = np.array([[0, 2], [0, 1], [0, 255], [1, 1]], np.uint8)
    expected = [[math.log(3 / 4) ** 2, math.log(1 / 4) ** 2, 0], [0, math.log(2 / 4) ** 2, math.log(1 / 4) ** 2]]
    np.testing.assert_allclose(inverse_frequencies(codes, 3), expected)


def test_intersection_by_hand() -> None:
    assert intersected(np.array([[200, 55], [0, 255]], np.uint8), np.array([[100, 155]], np.uint8)).tolist() == [
        [155.0, 155.0]
    ]


def test_a_collection_of_one_and_flat_pictures_score_without_nan() -> None:
    flat = described([ODD[0]])
    engine = Histograms()
    scores = engine.score(engine.build(flat), flat)
    assert scores.tolist() == [[0.5]]  # both histograms are the same, no block tells anything
    assert engine.score(engine.build(flat), flat.take([])).shape == (0, 1)


def test_names_and_refusals() -> None:
    assert [Histograms(how).name for how in GROUPS] == ["histograms", "histograms-colour", "histograms-texture"]
    assert Histograms(background="opaque").descriptor == HistogramFeatures("opaque")
    assert not Histograms().takes_text
    with pytest.raises(TextError, match="did you mean colour"):
        Histograms("color")
    with pytest.raises(TextError, match="no background is called 'black'"):
        HistogramFeatures("black")
    material = described([drawn(0)])
    with pytest.raises(TextError, match="takes no words"):
        Histograms().score_words(Histograms().build(material), [("bird",)])
    with pytest.raises(TableError, match="no column 'colour_blocks'"):
        Histograms().build(Material(("a",), ((),)))
