"""One type of catalog in a connector's file: which keys it has, and what PyIceberg and Spark call them.

All keys are without ``iceberg.catalog.``. Pure, of the standard library: a file is read at DAG parse time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal

from floe.config.connection_fields import ConnectionFields
from floe.config.engine import Engine

PREFIX: Final = "iceberg.catalog."

Check = Callable[[Mapping[str, str]], Iterator[str]]
"""Reads the keys of a catalog, and yields what is missing or forbidden."""

NameRule = Callable[[str], str | None]
"""Takes the full name of a table, and returns why the catalog has none of that name; None if it may."""

Translate = Callable[[Mapping[str, str]], dict[str, str]]
"""Takes keys and values as the file has them, with references resolved, and returns them as a library wants them."""

OfConnection = Callable[[ConnectionFields, Mapping[str, str]], dict[str, str]]
"""Takes an Airflow connection and the properties that are known already, and returns those that the connection adds."""


class KeyStatus(Enum):
    """What becomes of a key."""

    TAKEN = "taken"
    TRANSLATED = "translated"
    NO_EFFECT = "no effect"
    REFUSED = "refused"


@dataclass(frozen=True)
class CatalogKey:
    """A key of Java's catalogs; ``*`` at the end of ``name`` is any text.

    ``pyiceberg``: what PyIceberg calls it, for TRANSLATED. ``note``: for the documentation; the reason for NO_EFFECT, and
    for REFUSED the reason and what to set instead. ``unless``: the value by which a REFUSED key asks for nothing.
    """

    name: str
    status: KeyStatus
    note: str = ""
    pyiceberg: str = ""
    unless: str = ""

    def refuses(self, value: str) -> bool:
        """Whether no connector may have the key with this value."""
        return self.status is KeyStatus.REFUSED and (not self.unless or value.strip().lower() != self.unless)


def taken(name: str, note: str = "") -> CatalogKey:
    """Return the row of a key that means the same here."""
    return CatalogKey(name, KeyStatus.TAKEN, note)


def translated(name: str, pyiceberg: str, note: str = "") -> CatalogKey:
    """Return the row of a key that has another name, or another form, in PyIceberg."""
    return CatalogKey(name, KeyStatus.TRANSLATED, note, pyiceberg)


def no_effect(name: str, reason: str) -> CatalogKey:
    """Return the row of a key that is accepted and does nothing."""
    return CatalogKey(name, KeyStatus.NO_EFFECT, reason)


def refused(name: str, reason: str, unless: str = "") -> CatalogKey:
    """Return the row of a key that no connector may have, but with the value ``unless``."""
    return CatalogKey(name, KeyStatus.REFUSED, reason, unless=unless)


def _nothing(_: Mapping[str, str]) -> Iterator[str]:
    return iter(())


def _any_name(_: str) -> str | None:
    return None


def _nothing_of_it(_: ConnectionFields, __: Mapping[str, str]) -> dict[str, str]:
    return {}


def _as_given(given: Mapping[str, str]) -> dict[str, str]:
    return dict(given)


@dataclass(frozen=True)
class CatalogType:
    """One type of catalog: all that floe knows of it but the code that opens it, which ``provider`` names.

    ``provider``: the ``CatalogProvider``, made without arguments. ``aliases``: other values of ``iceberg.catalog.type``
    that mean it. ``implementations``: Java's classes that ``iceberg.catalog.catalog-impl`` may name. ``keys``: its own,
    beside those of every catalog and of stores. ``to_pyiceberg``: what has another form in PyIceberg, beyond the names
    in ``keys``; it gets keys by PyIceberg's names. ``to_spark``: the same for Spark's catalog, where it gets the file's
    keys and returns Java's, with ``type`` by Java's name. ``name_problem``: its rule for tables' names. ``folds_case``: names
    that differ by case only are one table.
    ``conn_types``: Airflow connections that may be one to it: a login to anything else is sent to none.
    ``of_connection``: what such a connection adds. ``warehouse``: an address of a store, a name, either, or what the
    type has a rule of its own for. ``library``: which of PyIceberg's own settings it reads, beside those of every
    catalog. ``has_address``: it is found by ``uri``. ``jvm_properties``: system properties that its Java client reads,
    each with the keys that are one. ``needs_aws``: its Java client is AWS's.
    """

    name: str
    provider: Engine
    aliases: tuple[str, ...] = ()
    implementations: tuple[str, ...] = ()
    keys: tuple[CatalogKey, ...] = ()
    problems: Check = _nothing
    to_pyiceberg: Translate = _as_given
    to_spark: Translate = _as_given
    name_problem: NameRule = _any_name
    folds_case: bool = False
    conn_types: tuple[str, ...] = ("iceberg", "generic", "")
    of_connection: OfConnection = _nothing_of_it
    warehouse: Literal["address", "name", "either", "own"] = "own"
    library: Literal["rest", "sql", ""] = ""
    has_address: bool = True
    jvm_properties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    needs_aws: bool = False


class KeyTable:
    """Rows of keys, for look-ups of thousands. Of two rows of one name the first counts, of two beginnings the longer."""

    def __init__(self, rows: Iterable[CatalogKey]) -> None:
        self._rows = tuple(rows)
        self._exact = {row.name: row for row in reversed(self._rows) if not row.name.endswith("*")}
        begun = {row.name[:-1]: row for row in reversed(self._rows) if row.name.endswith("*")}
        self._prefixes = dict(sorted(begun.items(), key=lambda one: -len(one[0])))
        self._starts = tuple(self._prefixes)

    def __iter__(self) -> Iterator[CatalogKey]:
        return iter(self._rows)

    def rows_of(self, keys: Iterable[str]) -> dict[str, CatalogKey]:
        """Return the rows of those keys that have one; a row of exactly that name counts over one that ends in ``*``."""
        exact, starts = self._exact, self._starts
        return {
            key: exact[key] if key in exact else self._begun(key)
            for key in keys
            if key in exact or key.startswith(starts)
        }

    def _begun(self, key: str) -> CatalogKey:
        return next(row for start, row in self._prefixes.items() if key.startswith(start))


def by_pyicebergs_names(given: Mapping[str, str], table: KeyTable) -> dict[str, str]:
    """Return keys by the names that PyIceberg has for them, without those of no effect.

    A key that is given by PyIceberg's own name counts over its translation.
    """
    made: dict[str, str] = {}
    rows = table.rows_of(given)
    for key, value in given.items():
        row = rows.get(key)
        if row is None or row.status is KeyStatus.TAKEN:
            made[key] = value
        elif row.status is KeyStatus.TRANSLATED and row.pyiceberg not in given:
            made[row.pyiceberg] = value
    return made
