"""A transform that is compared with its Java class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.support.java.transforms.setup import Options


@dataclass(frozen=True)
class Known:
    """A difference that the documentation has. ``reason``: in a sentence. ``problem``: the pattern of what differs.

    Among 20,000 records it has to occur with each of the ``forms``.
    """

    reason: str
    problem: str
    forms: Sequence[str]


@dataclass(frozen=True)
class Case:
    """A transform. ``type``: the Java class. ``options``: each is compared on records of each of the ``forms``.

    ``refused``: options that neither takes. ``known``: differences. ``jars``: see ``PACKAGES`` in ``oracle.py``. ``apart``:
    forms of records of which floe makes something else on purpose, and why: they are not compared, and in no chain.
    """

    type: str
    options: Sequence[Options]
    forms: Sequence[str] = ("objects", "structs")
    refused: Sequence[Options] = ()
    known: Sequence[Known] = ()
    jars: str = "relational"
    apart: Mapping[str, str] = field(default_factory=dict)
