"""The formats by name. A new one needs a line here, and one in ``bench.suites.formats`` to be measured by ``make bench``."""

from __future__ import annotations

from typing import Final

from bench.formats.avro import AVRO
from bench.formats.base import Format
from bench.formats.envelope import ENVELOPE
from bench.formats.json_text import JSON_SCHEMA, PLAIN, TYPED
from bench.formats.protobuf import PROTOBUF

FORMATS: Final[dict[str, Format]] = {one.name: one for one in (AVRO, PROTOBUF, ENVELOPE, PLAIN, TYPED, JSON_SCHEMA)}
