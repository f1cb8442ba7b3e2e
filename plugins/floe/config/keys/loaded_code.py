"""Which keys name code that would be loaded: the file, Connect's REST API and runs refuse by these, as rows of the table.

A name that floe looks up in a list of its own is no code: converters, transforms, Java's classes of catalogs, clients and
logins. Nor is the value of a key that has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floe.config.kafka.translation import KNOWN_CODE

PYTHON: Final = "python:"
"""How a value begins that names a module of the user's."""


@dataclass(frozen=True)
class LoadedCode:
    """The keys of one row whose values are loaded as code.

    ``rest``: an expression of what follows the row's prefix. ``begins``: how such a value begins, in any case.
    ``known``: by that rest, the values whose work floe does by itself.
    """

    rest: re.Pattern[str]
    begins: str = ""
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, rest: str, begins: str = "", known: Mapping[str, tuple[str, ...]] | None = None) -> LoadedCode:
        """Compile the expression once: every key of a connector is compared with it."""
        return cls(re.compile(rest, re.DOTALL), begins, known or {})

    def names(self, rest: str, value: str | None = None) -> bool:
        """Whether the key with this rest names code by its value; for None, whether some value of it does."""
        if self.rest.fullmatch(rest) is None:
            return False
        if value is None:
            return True
        text = value.strip()
        return text.lower().startswith(self.begins) and text not in self.known.get(rest, ())


IN_PYTHON: Final = LoadedCode.of("", PYTHON)
"""A key of exactly the row's name."""

TRANSFORM: Final = LoadedCode.of(r".+\.type", PYTHON)
CATALOG: Final = LoadedCode.of(r"py-(catalog|io)-impl|s3\.retry-strategy-impl|auth(\.(?!session-timeout-ms$).*)?")
"""What PyIceberg imports. Java's classes, and s3.signer, are looked up."""

TABLE: Final = LoadedCode.of(r"py-(catalog|io)-impl|write\..*\.impl")
CLIENT: Final = LoadedCode.of(
    r"plugin\.library\.paths|interceptor\.classes|metric\.reporters|config\.providers(\..*)?|.*\.class(es)?(\..*)?"
    r"|(key|value)\.(de)?serializer|auto\.include\.jmx\.reporter|security\.providers"
    r"|ssl\.(engine\..*|providers)|sasl\.kerberos\.kinit\.cmd",
    known=KNOWN_CODE,
)
"""What librdkafka loads or runs, and Java's names for code of clients (CVE-2023-25194, CVE-2025-27817)."""
