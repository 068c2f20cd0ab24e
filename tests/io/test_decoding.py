"""Decoding: every kind of file that people have gives the right pixels; every other is named, with the reason."""

import io
import os
import struct
import threading
import tracemalloc
import warnings
import zlib

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from endoxa.errors import FileError
from endoxa.images import Picture
from endoxa.io import decoding
from endoxa.io.decoding import decode, is_picture, thumbnail


def scene(width=60, height=40):
    """A smooth picture with a different colour in each corner, so that turning it shows."""
    x, y = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return np.stack([x, y, 255 - (x + y) / 2], -1).round().astype(np.uint8)


def saved(picture, form, **options):
    buffer = io.BytesIO()
    (picture if isinstance(picture, Image.Image) else Image.fromarray(picture)).save(buffer, form, **options)
    return buffer.getvalue()


def off(found, wanted):
    return int(np.abs(found.astype(int) - wanted.astype(int)).max())


@pytest.mark.parametrize(
    ("form", "allowed"), [("PNG", 0), ("BMP", 0), ("TIFF", 0), ("PPM", 0), ("JPEG", 12), ("WEBP", 24)]
)
def test_pixels_are_those_of_the_file(form, allowed):
    found = decode(saved(scene(), form))
    assert found.pixels.dtype == np.uint8
    assert found.mask is None
    assert off(found.pixels, scene()) <= allowed


def test_a_path_and_its_bytes_give_the_same(tmp_path):
    (tmp_path / "a.png").write_bytes(saved(scene(), "PNG"))
    assert (decode(tmp_path / "a.png").pixels == scene()).all()


def test_pixels_can_be_written_to():
    decode(saved(scene(), "PNG")).pixels[0] = 0


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_turned_pictures_stand_upright(form, orientation):
    """By the definition in the EXIF standard: where row 0 and column 0 of the file lie in the scene."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    upright = scene()
    stored = {
        1: upright, 2: upright[:, ::-1], 3: upright[::-1, ::-1], 4: upright[::-1],
        5: upright.transpose(1, 0, 2), 6: upright.transpose(1, 0, 2)[::-1],
        7: upright.transpose(1, 0, 2)[::-1, ::-1], 8: upright.transpose(1, 0, 2)[:, ::-1],
    }[orientation]  # fmt: skip
    found = decode(saved(np.ascontiguousarray(stored), form, exif=exif))
    assert found.shape == (40, 60)
    assert off(found.pixels, upright) <= (0 if form in {"PNG", "TIFF"} else 24)


def test_broken_notes_do_not_hide_the_picture():
    raw = saved(scene(), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    assert decode(raw).shape == (40, 60)


def test_alpha_gives_a_mask_and_lies_on_white():
    pixels = np.dstack([scene(), np.repeat([[0, 64, 127, 128, 200, 255]], 10, axis=1).repeat(40, axis=0)])
    found = decode(saved(pixels.astype(np.uint8), "PNG"))
    share = pixels[..., 3:] / 255
    assert off(found.pixels, (scene() * share + 255 * (1 - share)).round()) <= 1
    assert (found.mask == (pixels[..., 3] >= 128)).all()


def test_alpha_that_is_opaque_is_no_mask_and_a_clear_picture_is_white():
    assert decode(saved(Image.new("RGBA", (5, 4), (1, 2, 3, 255)), "PNG")).mask is None
    clear = decode(saved(Image.new("RGBA", (5, 4), (1, 2, 3, 0)), "PNG"))
    assert not clear.mask.any()
    assert (clear.pixels == 255).all()


@pytest.mark.parametrize("form", ["PNG", "GIF"])
def test_a_transparent_colour_of_a_palette(form):
    picture = Image.new("P", (4, 2), 1)
    picture.putpalette([9, 9, 9, 200, 0, 0])
    picture.putpixel((0, 0), 0)
    found = decode(saved(picture, form, transparency=0))
    assert found.mask.sum() == 7
    assert not found.mask[0, 0]
    assert found.pixels[0, 0].tolist() == [255, 255, 255]
    assert found.pixels[1, 3].tolist() == [200, 0, 0]


@pytest.mark.parametrize(("mode", "clear"), [("RGB", (10, 20, 30)), ("L", 10), ("1", 0)])
def test_one_colour_named_transparent(mode, clear):
    picture = Image.new(mode, (4, 2), "white")
    picture.putpixel((2, 1), clear)
    found = decode(saved(picture, "PNG", transparency=clear))
    assert found.mask.sum() == 7
    assert not found.mask[1, 2]


def test_grey_with_alpha():
    found = decode(saved(Image.new("LA", (3, 3), (100, 255)), "PNG"))
    assert (found.pixels == 100).all()
    assert not decode(saved(Image.new("LA", (3, 3), (100, 9)), "PNG")).mask.any()


@pytest.mark.parametrize("form", ["PNG", "TIFF", "PPM"])
@pytest.mark.parametrize("top", [65535, 1000])
def test_sixteen_bits_of_grey_are_scaled_and_not_stretched(form, top):
    ramp = np.tile(np.linspace(0, top, 256).astype(np.uint16), (4, 1))
    found = decode(saved(ramp, form))
    assert off(found.pixels[..., 0], np.rint(ramp / 257)) == 0
    assert (found.pixels[..., 0] == found.pixels[..., 2]).all()


def test_floating_greys_with_holes():
    values = np.array([[0, 1, 2, np.nan], [4, np.inf, -np.inf, 1]], dtype=np.float32)
    found = decode(saved(values, "TIFF")).pixels[..., 0]
    assert found.tolist() == [[0, 64, 128, 0], [255, 255, 0, 64]]
    assert (decode(saved(np.full((2, 2), np.nan, np.float32), "TIFF")).pixels == 0).all()


@pytest.mark.parametrize("form", ["JPEG", "TIFF"])
def test_inks_become_light(form):
    """Adobe's JPEGs hold CMYK upside down, TIFFs do not; both mean (1 - ink)(1 - black)."""
    inks = Image.new("CMYK", (32, 8))
    for at, ink in enumerate([(0, 0, 0, 0), (0, 255, 255, 0), (255, 0, 0, 0), (0, 0, 0, 255)]):
        inks.paste(ink, (8 * at, 0, 8 * at + 8, 8))
    raw = saved(inks, form)
    found = decode(raw).pixels
    for at, wanted in enumerate([(255, 255, 255), (255, 0, 0), (0, 255, 255), (0, 0, 0)]):
        assert np.abs(found[4, 8 * at + 4].astype(int) - wanted).max() <= 3
    if form == "JPEG":
        other = cv2.imdecode(np.frombuffer(raw, np.uint8), cv2.IMREAD_COLOR)[..., ::-1]
        assert b"Adobe" in raw
        assert off(found, other) <= 3


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame(form):
    frames = [Image.new("RGB", (6, 5), colour) for colour in ("red", "blue", "green")]
    options = {"lossless": True} if form == "WEBP" else {}
    found = decode(saved(frames[0], form, save_all=True, append_images=frames[1:], **options))
    assert (found.pixels == [255, 0, 0]).all()


# ---- sizes ----------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 120), st.sampled_from(["PNG", "JPEG"]))
def test_sizes_are_those_of_the_contract(width, height, side, form):
    """As `Picture.fitted` has them: the long side comes down to `side`, and is never made larger."""
    found = decode(saved(Image.new("RGB", (width, height), (7, 80, 90)), form), side=side)
    assert found.shape == Picture(np.zeros((height, width, 3), np.uint8)).fitted(side).shape
    assert np.abs(found.pixels.astype(int) - (7, 80, 90)).max() <= 3


@pytest.mark.parametrize(("form", "allowed"), [("PNG", 3), ("JPEG", 6)])
@pytest.mark.parametrize("side", [300, 256, 100, 37])
def test_shrinking_takes_means_of_areas(form, allowed, side):
    """Against OpenCV's areas of the whole picture: JPEG's own shrinking and our two steps come close."""
    whole = scene(1003, 701)
    found = decode(saved(whole, form, **({"quality": 95} if form == "JPEG" else {})), side=side)
    wanted = cv2.resize(whole, found.shape[::-1], interpolation=cv2.INTER_AREA)
    assert off(found.pixels, wanted) <= allowed


def test_bands_leave_no_seams(monkeypatch):
    pixels = np.random.default_rng(3).integers(0, 256, (97, 53, 4), dtype=np.uint8)
    raw = saved(pixels, "PNG")
    whole = {side: decode(raw, side=side) for side in (None, 97, 40, 20)}
    monkeypatch.setattr(decoding, "BAND", 300)
    for side, wanted in whole.items():
        found = decode(raw, side=side)
        assert (found.pixels == wanted.pixels).all()
        assert (found.mask == wanted.mask).all()


def test_a_large_picture_takes_no_second_copy():
    """Pillow's own memory is not traced, NumPy's is: the pixels as numbers would take 96 MB."""
    raw = saved(Image.new("I;16", (6000, 2000), 700), "PNG")
    tracemalloc.start()
    try:
        decode(raw, side=64)
        assert tracemalloc.get_traced_memory()[1] < 45e6  # a band of a million pixels as float64, a few times
    finally:
        tracemalloc.stop()


def test_thin_pictures():
    for size in [(1, 1), (5000, 1), (1, 5000), (4000, 3)]:
        found = decode(saved(Image.new("RGB", size, "blue"), "PNG"), side=64)
        assert max(found.shape) == min(64, max(size))
        assert (found.pixels == [0, 0, 255]).all()


# ---- what is refused ------------------------------------------------------------------------------------------


def png_of(width, height, data=b""):
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = b"IDAT" + data
    chunks = [
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in (header, body)
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "it is empty"),
        (b"some text", "it is none of JPEG, PNG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG drawing"),
        (b"\xef\xbb\xbf <?xml version='1.0'?>\n<!-- x --><svg/>", "SVG drawing"),
        (b"<!DOCTYPE html><html></html>", "web page"),
        (b"<HTML><body>404</body>", "web page"),
        (b"%PDF-1.4\n", "PDF"),
        (b"PK\x03\x04....", "zip"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC"),
        (saved(scene(), "JPEG")[:700], "is truncated"),
        (saved(scene(), "PNG")[:80], "is truncated"),
        (saved(scene(), "BMP")[:500], "is truncated"),
        (saved(scene(), "ICO"), "it is none of"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "PostScript"),
    ],
)
def test_what_is_no_picture_is_named_with_the_reason(tmp_path, raw, reason):
    path = tmp_path / "posing.png"
    path.write_bytes(raw)
    with pytest.raises(FileError) as caught:
        decode(path)
    assert str(caught.value).startswith(f"{path}: does not decode as a picture (")
    assert reason in caught.value.problem
    assert caught.value.remedy
    with pytest.raises(FileError, match=r"^what I sent: does not decode"):
        decode(raw, name="what I sent")


def test_bombs_are_refused_before_they_go_off():
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match=r"bomb: has 10001 × 10000 pixels; make it smaller, 100 million"):
            decode(png_of(10_001, 10_000), name="bomb")
        with pytest.raises(FileError, match="bomb: has far too many pixels; make it smaller"):
            decode(png_of(60_000, 60_000), name="bomb")
        with pytest.raises(FileError, match=r"bomb: (has far too many pixels|has 65535 × 65535|does not decode)"):
            decode(
                b"GIF89a" + struct.pack("<HH", 65535, 65535) + b"\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x02\0;", name="bomb"
            )
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_a_tiff_without_all_its_strips_is_refused():
    """Of 90 rows it holds the first 9; Pillow leaves the others black."""

    def tiff(height: int) -> bytes:
        tags = {256: 7, 257: height, 258: 8, 259: 1, 262: 1, 273: 110, 277: 1, 278: 9}
        entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
        return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4) + b"\x5a" * 63

    assert decode(tiff(9)).pixels.shape == (9, 7, 3)
    for height in (10, 90, 9_764_873):
        with pytest.raises(FileError, match="it is truncated"):
            decode(tiff(height))


def test_a_tiff_of_vast_tiles_is_refused():
    """Written by hand: 16 × 16 grey pixels, packed, in one tile of 60000 × 60000."""
    fields = [
        (256, 16), (257, 16), (258, 8), (259, 8), (262, 1), (277, 1), (322, 60_000), (323, 60_000), (324, 200), (325, 8)
    ]  # fmt: skip
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in fields)
    raw = b"II*\0" + struct.pack("<IH", 8, len(fields)) + entries + bytes(4)
    with pytest.raises(FileError, match="has tiles of 60000 × 60000 pixels; make it smaller"):
        decode(raw.ljust(208, b"\0"))


def test_files_that_are_too_heavy(tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "BYTES", 1 << 20)
    path = tmp_path / "heavy.png"
    with path.open("wb") as file:
        file.truncate(5 << 20)
    with pytest.raises(FileError, match=r"heavy\.png: has 5 MiB; make it smaller, "):
        decode(path)
    with pytest.raises(FileError, match="picture: has 2 MiB"):
        decode(bytes(2 << 20))


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match=r"none\.png: cannot be read: No such file"):
        decode(tmp_path / "none.png")
    with pytest.raises(FileError, match="cannot be read: it is a folder"):
        decode(tmp_path)
    with pytest.raises(FileError, match="cannot be read"):
        decode(tmp_path / "a\0b.png")
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(FileError, match=r"pipe\.png: cannot be read: it is a device or a pipe"):
        decode(tmp_path / "pipe.png")
    if os.geteuid():
        (tmp_path / "shut.png").write_bytes(saved(scene(), "PNG"))
        (tmp_path / "shut.png").chmod(0)
        with pytest.raises(FileError, match="cannot be read: Permission denied"):
            decode(tmp_path / "shut.png")


SAMPLES = {
    "png": saved(scene(24, 16), "PNG"), "jpeg": saved(scene(24, 16), "JPEG"), "webp": saved(scene(24, 16), "WEBP"),
    "gif": saved(Image.fromarray(scene(24, 16)).convert("P"), "GIF", transparency=3),
    "grey": saved(np.zeros((16, 24), np.uint16), "PNG"), "float": saved(np.ones((16, 24), np.float32), "TIFF"),
    "tiff": saved(scene(24, 16), "TIFF", compression="tiff_lzw"), "ppm": saved(scene(24, 16), "PPM"),
    "cmyk": saved(Image.fromarray(scene(24, 16)).convert("CMYK"), "TIFF"), "bmp": saved(scene(24, 16), "BMP"),
    "exif": saved(scene(9, 6), "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06" + bytes(6)),
}  # fmt: skip


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    which=st.sampled_from(sorted(SAMPLES)), cut=st.one_of(st.just(1.0), st.floats(0, 1)),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6),
    side=st.sampled_from([None, 8]),
)  # fmt: skip
def test_damaged_files_decode_or_are_named(which, cut, changes, side):
    content = bytearray(SAMPLES[which])
    for where, value in changes:
        content[int(where * len(content))] = value
    try:
        found = decode(bytes(content[: int(cut * len(content))]), side=side, name="damaged")
    except FileError as error:
        assert str(error).startswith("damaged: ")
        assert "\n" not in str(error)
    else:
        assert found.pixels.ndim == 3
        assert found.mask is None or found.mask.shape == found.shape


def test_warnings_stay_inside_also_in_threads(monkeypatch):
    """Python has one list of filters: decoding in threads leaves it as it was."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2000)  # Pillow warns from here on
    before = list(warnings.filters)
    raw = saved(scene(), "PNG")
    wrong = []
    with pytest.raises(Image.DecompressionBombWarning):
        Image.open(io.BytesIO(raw))

    def work():
        for _ in range(50):
            try:
                decode(raw)
            except Warning as warning:
                wrong.append(warning)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert list(warnings.filters) == before


# ---- galleries ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "magic"), [("JPEG", b"\xff\xd8"), ("WEBP", b"RIFF")])
def test_thumbnails(tmp_path, form, magic):
    exif = Image.Exif()
    exif[0x010F] = "a camera that tells"
    (tmp_path / "a.jpg").write_bytes(saved(scene(400, 200), "JPEG", exif=exif))
    for source in (tmp_path / "a.jpg", (tmp_path / "a.jpg").read_bytes(), Picture(scene(400, 200))):
        small = thumbnail(source, 50, form=form)
        assert small.startswith(magic)
        assert b"camera" not in small
        assert decode(small).shape == (25, 50)
        assert off(decode(small).pixels, cv2.resize(scene(400, 200), (50, 25), interpolation=cv2.INTER_AREA)) <= 24


def test_thumbnails_are_not_made_larger():
    assert decode(thumbnail(Picture(scene(20, 10)), 50)).shape == (10, 20)


@pytest.mark.parametrize(
    ("name", "is_one"), [("a.JPG", True), ("b.c.webp", True), ("a.ppm", True), ("a.svg", False), (".png", False)]
)
def test_names_of_pictures(tmp_path, name, is_one):
    assert is_picture(tmp_path / name) is is_one
