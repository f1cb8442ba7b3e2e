"""Why a batch cannot take the columnar path as it is."""

from __future__ import annotations


class NotExact(Exception):
    """The columnar result would not, or might not, be the exact path's. ``row`` is a hint at the first such record."""

    def __init__(self, row: int | None = None) -> None:
        super().__init__(row)
        self.row = row


class Respelled(Exception):
    """Keys were met that mean known columns: to be read again with these carried as well."""


class NoTemplate(Exception):
    """Records have too little in common, or hold what is not looked for by its place: arrays, say, or escapes."""
