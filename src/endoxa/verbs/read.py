"""read: a table from whatever holds one."""

from endoxa.io.read import read

__all__ = ["read"]
