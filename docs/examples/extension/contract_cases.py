"""What the contract suites of a clone of floe need to know of this distribution: what it reads, and what it refuses.

In the clone: `make contracts EXTENSIONS=floe-example CASES=contract_cases.py`. This file is not a part of the distribution.
"""

from floe_example.has_field import HAS_FIELD
from floe_example.label import LABEL
from floe_example.lines import LINES
from floe_example.scratch_tags import PROPERTY
from floe_example.steer import STEER

from tests.support.contracts import (
    CatalogCase,
    ConverterCase,
    JobCase,
    TransformCase,
    read_condition,
    read_converter,
    read_transform,
)
from tests.support.tables.old_snapshots import AgingLake


def _line(record: dict[str, str]) -> bytes:
    return " ".join(f"{name}={value}" for name, value in record.items()).encode()


CONVERTERS = {"example.LineConverter": ConverterCase(read_converter(LINES), _line, (b"no pair", b"\xff", b"x"))}

_SAYS_DO = read_condition(HAS_FIELD, name="do")
_STEERED = {"bad": ({"do": "refuse"},), "dropped": ({"do": "drop"},)}

TRANSFORMS = {
    "example.Steer": TransformCase(read_transform(STEER), **_STEERED),
    "example.Steer, on a condition": TransformCase(read_transform(STEER, predicate=_SAYS_DO), **_STEERED),
    "example.Label": TransformCase(read_transform(LABEL)),
}

CATALOGS = {"in-memory": CatalogCase()}


def _tag(lake: AgingLake) -> None:
    lake.set_ref("scratch-1", lake.load().metadata.current_snapshot_id)


JOBS = {"drop-scratch-tags": JobCase({PROPERTY: "true"}, _tag, drops=("scratch-1",))}
