"""Pictures: whatever comes is shown, or named; nothing else of the file gets through."""

import hashlib
import io
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from endoxa.errors import FileError
from endoxa.io import pictures
from endoxa.io.decoding import is_picture


def stripes(size=(60, 40), mode="RGB"):
    """A picture that is not one colour."""
    rng = np.random.default_rng(1)
    return Image.fromarray(rng.integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)).convert(mode)


def saved(picture, form, **options):
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def kept(folder, name, *, small=False):
    with Image.open(pictures.place(folder, name, small=small)) as found:
        found.load()
        return found


@pytest.mark.parametrize(
    ("form", "mode"),
    [
        ("PNG", "RGB"), ("PNG", "RGBA"), ("PNG", "P"), ("PNG", "L"), ("PNG", "LA"), ("PNG", "1"), ("JPEG", "RGB"),
        ("JPEG", "CMYK"), ("JPEG", "L"), ("GIF", "P"), ("WEBP", "RGB"), ("WEBP", "RGBA"), ("BMP", "RGB"),
        ("TIFF", "RGB"), ("TIFF", "CMYK"), ("TIFF", "LAB"),
    ],
)  # fmt: skip
def test_what_people_have_is_kept_and_shown(tmp_path, form, mode):
    picture = stripes()
    path = tmp_path / "picture"
    if mode == "LAB":
        from PIL import ImageCms

        lab = ImageCms.buildTransform(ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB")
        picture = ImageCms.applyTransform(picture, lab)
    else:
        picture = picture.convert(mode)
    path.write_bytes(saved(picture, form))
    name, original = pictures.keep(path, tmp_path / "files")
    assert original == hashlib.sha256(path.read_bytes()).hexdigest()
    assert name == hashlib.sha256(pictures.place(tmp_path / "files", name).read_bytes()).hexdigest()
    assert kept(tmp_path / "files", name).mode == "RGB"
    assert kept(tmp_path / "files", name).size == (60, 40)


def test_large_ones_are_made_smaller_and_small_ones_are_not_made_larger(tmp_path):
    path = tmp_path / "large.png"
    path.write_bytes(saved(stripes((2000, 1000)), "PNG"))
    name, _ = pictures.keep(path, tmp_path)
    assert kept(tmp_path, name).size == (1600, 800)
    assert kept(tmp_path, name, small=True).size == (480, 240)


def test_what_is_transparent_is_white(tmp_path):
    path = tmp_path / "clear.png"
    path.write_bytes(saved(Image.new("RGBA", (8, 8), (255, 0, 0, 0)), "PNG"))
    name, _ = pictures.keep(path, tmp_path)
    assert kept(tmp_path, name).getpixel((4, 4)) == (255, 255, 255)


@pytest.mark.parametrize(("form", "suffix"), [("PNG", ".png"), ("TIFF", ".tif")])
def test_sixteen_bits_of_grey_stay_grey(tmp_path, form, suffix):
    """As cameras of scientists make them: a ramp from black to white is still one."""
    ramp = np.tile(np.linspace(0, 65535, 256).astype(np.uint16), (16, 1))
    path = tmp_path / f"ramp{suffix}"
    path.write_bytes(saved(Image.fromarray(ramp), form))
    name, _ = pictures.keep(path, tmp_path)
    row = np.asarray(kept(tmp_path, name).convert("L"), dtype=float)[8]
    assert np.abs(row - np.arange(256)).max() < 12


def test_floating_greys_are_spread_from_black_to_white(tmp_path):
    for values in (np.linspace(-3, 9, 256), np.linspace(0, 2**20, 256), np.full(256, 5.0)):
        path = tmp_path / "ramp.tif"
        path.write_bytes(saved(Image.fromarray(np.tile(values.astype(np.float32), (16, 1))), "TIFF"))
        name, _ = pictures.keep(path, tmp_path)
        row = np.asarray(kept(tmp_path, name).convert("L"), dtype=float)[8]
        assert np.abs(row - (np.arange(256) if values[0] < values[-1] else 0)).max() < 12


def test_turned_pictures_stand_upright_and_positions_are_gone(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    exif[0x010F] = "a camera that tells"
    path = tmp_path / "turned.jpg"
    path.write_bytes(saved(stripes((60, 40)), "JPEG", exif=exif))
    name, _ = pictures.keep(path, tmp_path)
    found = kept(tmp_path, name)
    assert found.size == (40, 60)
    assert not found.getexif()
    assert b"camera that tells" not in pictures.place(tmp_path, name).read_bytes()


def test_the_same_picture_is_kept_once(tmp_path):
    for number in range(2):
        (tmp_path / f"{number}.png").write_bytes(saved(stripes(), "PNG"))
    names = {pictures.keep(tmp_path / f"{number}.png", tmp_path / "files")[0] for number in range(2)}
    assert len(names) == 1
    assert len(list((tmp_path / "files").iterdir())) == 2  # large and small


def test_one_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match=r"none\.png: cannot be read: No such file"):
        pictures.keep(tmp_path / "none.png", tmp_path)
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(FileError, match=r"folder\.png: cannot be read"):
        pictures.keep(tmp_path / "folder.png", tmp_path)


SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


@pytest.mark.parametrize(
    "content", [b"", b"text", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", SVG, b"%PDF-1.4\n"]
)
def test_what_is_no_picture_is_named(tmp_path, content):
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"broken\.png: does not decode.*replace it or leave it out"):
        pictures.keep(path, tmp_path / "files")
    assert not (tmp_path / "files").exists()


def test_a_bomb_is_refused_before_it_goes_off(tmp_path):
    header = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    import zlib

    chunk = b"IHDR" + header
    path = tmp_path / "bomb.png"
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk)) + b"\x00" * 40
    )
    with pytest.raises(FileError, match=r"bomb\.png: (has 50000 × 50000 pixels|does not decode)"):
        pictures.keep(path, tmp_path)


SAMPLES = {
    "png": saved(stripes((24, 16)), "PNG"), "palette": saved(stripes((24, 16), "P"), "PNG"),
    "jpeg": saved(stripes((24, 16)), "JPEG"), "gif": saved(stripes((24, 16), "P"), "GIF"),
    "webp": saved(stripes((24, 16)), "WEBP"), "bmp": saved(stripes((24, 16)), "BMP"),
    "tiff": saved(stripes((24, 16)), "TIFF"), "packed tiff": saved(stripes((24, 16)), "TIFF", compression="tiff_lzw"),
}  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    which=st.sampled_from(sorted(SAMPLES)), cut=st.floats(0, 1),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6),
)  # fmt: skip
def test_damaged_files_are_shown_or_named(tmp_path, which, cut, changes):
    content = bytearray(SAMPLES[which])
    for where, value in changes:
        content[int(where * len(content))] = value
    path = tmp_path / "damaged.img"
    path.write_bytes(bytes(content[: max(1, int(cut * len(content)))]))
    try:
        name, _ = pictures.keep(path, tmp_path / "files")
    except FileError as error:
        assert "damaged.img" in str(error)
    else:
        kept(tmp_path / "files", name)


@pytest.mark.parametrize(("name", "is_one"), [("a.jpg", True), ("a.JPEG", True), ("a.svg", False), ("a", False)])
def test_names_of_pictures(tmp_path, name, is_one):
    assert is_picture(tmp_path / name) is is_one
