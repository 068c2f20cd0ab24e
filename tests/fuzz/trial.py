"""One input, one target: what is wrong with how it was read, if anything."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fuzz.targets import Target

from endoxa.errors import EndoxaError

SECONDS = 2.0  # of the processor, because others use it too
FACTOR = 20  # bytes of memory for each byte of input, beyond the floor of the target
LONGEST = 5000  # characters of a message
TRIALS = 3000  # to make a finding smaller
OWN = str(Path(__file__).parents[2])


def finding(target: Target, data: bytes, folder: Path) -> str | None:
    """What is wrong, in words that are the same for the same fault; None if nothing is.

    Time and memory count only if they are exceeded twice: the first time, parts may be loaded.
    """
    what = once(target, data, folder)
    return once(target, data, folder) if what and what.startswith(("more than", "longer than")) else what


def once(target: Target, data: bytes, folder: Path) -> str | None:
    """Read the bytes; what is wrong."""
    before, begin = _memory_begins(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.feed(data, folder)
    except EndoxaError as error:
        if len(str(error)) > LONGEST:
            return f"a message of more than {LONGEST} characters: {_place(error)}"
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 (this is what is looked for)
        words = str(error).splitlines()[0][:80] if isinstance(error, AssertionError) and str(error) else ""
        return f"{type(error).__name__} {words}at {_place(error)}".replace("  ", " ")
    if time.process_time() - begin > SECONDS:
        return f"longer than {SECONDS:g} s"
    if _peak() - before > max(target.floor, FACTOR * len(data)):
        return f"more than {FACTOR} times its size, or {target.floor >> 20} MB"
    return None


def _place(error: BaseException) -> str:
    """The innermost line of ours."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(OWN)]
    last = frames[-1]
    return f"{Path(last.filename).name}:{last.name}"


def smallest(wrong: Callable[[bytes], bool], data: bytes) -> bytes:
    """A part of the bytes that is still wrong, from which no piece can be cut (within so many trials)."""
    size, trials = max(1, len(data) // 2), 0
    while trials < TRIALS:
        at, shrunk = 0, False
        while at < len(data) and trials < TRIALS:
            shorter, trials = data[:at] + data[at + size :], trials + 1
            if wrong(shorter):
                data, shrunk = shorter, True
            else:
                at += size
        if size == 1 and not shrunk:
            break
        size = max(1, size // 2)
    return data


def _memory_begins() -> int:
    """The memory in use; the peak is counted from here. 0 where the system does not tell."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    return 0


def _peak() -> int:
    with suppress(OSError):
        return _status("VmHWM")
    return 0


def _status(name: str) -> int:
    text = Path("/proc/self/status").read_text()
    at = text.index(f"{name}:") + len(name) + 1
    return int(text[at : text.index("kB", at)]) << 10
