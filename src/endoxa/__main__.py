"""`python -m endoxa` is the command `endoxa`."""

from __future__ import annotations

from endoxa.cli import main

if __name__ == "__main__":
    main()
