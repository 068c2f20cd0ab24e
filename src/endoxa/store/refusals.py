"""What a person may not do, or not now: said in a sentence, with the status that the web gives it."""

from __future__ import annotations

from endoxa.errors import EndoxaError


class RefusedError(EndoxaError):
    """A request that is refused."""

    def __init__(self, text: str, status: int = 409) -> None:
        self.status = status
        super().__init__(text)


def absent(what: str) -> RefusedError:
    """Not there, or not yours: the two are not told apart."""
    return RefusedError(f"there is no such {what} here", 404)
