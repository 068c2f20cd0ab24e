"""The errors for files that cannot be opened; for one that is missing, with the name of one that may be meant."""

from __future__ import annotations

from pathlib import Path

from endoxa.errors import FileError, MissingFile, advice, did_you_mean

ALIKE = 0.7  # how alike the names of files must be for one to be suggested


def near_file(path: str) -> str:
    """`did you mean runs/bm25.run?` where a file of nearly this name lies in the same folder; else nothing."""
    folder, name = Path(path).parent, Path(path).name
    try:
        known = [one.name for one in folder.iterdir()]
        before = path.removesuffix(name)
        return "" if Path(path).exists() else did_you_mean(name, known, before=before, cutoff=ALIKE)
    except (OSError, ValueError):  # a folder that is none, a name that cannot be one
        return ""


def unreadable(path: str, error: OSError | ValueError, remedy: str = "", *, suggest: bool = True) -> FileError:
    """The error for a file or folder that cannot be opened; for one that is missing, with a name like it beside it.

    Without `suggest` no name is looked for: the path was not typed, or the message may be shown to strangers.
    """
    problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if not isinstance(error, FileNotFoundError):
        return FileError(path, problem, remedy)
    return MissingFile(path, problem, advice(remedy, near_file(path)) if suggest else remedy)
