"""Why a batch cannot take the columnar path as it is."""

from __future__ import annotations


class NotExact(Exception):
    """The columnar result would not, or might not, be the exact path's. ``row`` is a hint at the first such record."""

    def __init__(self, row: int | None = None) -> None:
        super().__init__(row)
        self.row = row


class Respelled(Exception):
    """Keys were found that mean known columns. The batch has to be read again with these keys as well."""


class UnexpectedField(Exception):
    """A record has a field that the columns which were given do not have."""


class NoTemplate(Exception):
    """Records have too little in common, or contain what a template does not cover, such as arrays or escapes."""
