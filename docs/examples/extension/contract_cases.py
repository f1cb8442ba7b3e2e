"""What the contract suites of a clone of floe need to know of this distribution: what it reads, and what it refuses.

In the clone: `make contracts EXTENSIONS=floe-example CASES=contract_cases.py`. This file is not a part of the distribution.
"""

from floe_example.has_field import HAS_FIELD
from floe_example.label import LABEL
from floe_example.lines import LINES
from floe_example.lower_case import LOWER_CASE
from floe_example.scratch_tags import PROPERTY
from floe_example.steer import STEER

from floe.config import Connector, parse_connector
from tests.support.catalogs import CatalogLake
from tests.support.connectors import MINIMAL
from tests.support.contracts import (
    CatalogCase,
    ConverterCase,
    JobCase,
    TransformCase,
    read_condition,
    read_converter,
    read_transform,
)
from tests.support.tables.lake import TABLE, TOPIC
from tests.support.tables.old_snapshots import AgingLake


def _line(record: dict[str, str]) -> bytes:
    return " ".join(f"{name}={value}" for name, value in record.items()).encode()


# the bytes of a record of texts, and values that have to be rejected with Malformed
CONVERTERS = {
    "example.LineConverter": ConverterCase(read_converter(LINES), _line, (b"no pair", b"\xff", b"x", b"a=1 a=2"))
}

_SAYS_DO = read_condition(HAS_FIELD, name="do")
_STEERED = {"bad": ({"do": "refuse"},), "dropped": ({"do": "drop"},)}

# `plain`: values that it takes, without it any objects; `bad`: those that it refuses; `dropped`: those that it leaves out
TRANSFORMS = {
    "example.Steer": TransformCase(read_transform(STEER), **_STEERED),
    "example.Steer, on a condition": TransformCase(read_transform(STEER, predicate=_SAYS_DO), **_STEERED),
    "example.Label": TransformCase(read_transform(LABEL)),
    "example.LowerCase$Value": TransformCase(
        read_transform(LOWER_CASE, fields="do, to"), plain=({"do": "GO", "to": 7}, {"to": "T"}, {}, "TEXT", 7)
    ),
}


class FolderLake(CatalogLake):
    """A lake in a catalog of the type: it has one key where others have ``uri`` and ``warehouse``."""

    def connector(self, **over: object) -> Connector:
        """Return a connector of the suite's, in a folder of a test's own."""
        catalog = {"iceberg.catalog.type": self.kind, "iceberg.catalog.example.folder": str(self.folder)}
        return parse_connector({**MINIMAL, "topics": TOPIC, "iceberg.tables": TABLE, **catalog, **over})


CATALOGS = {"example-folder": CatalogCase(lambda folder: FolderLake(folder, kind="example-folder"))}


def _tag(lake: AgingLake) -> None:
    lake.set_ref("scratch-1", lake.load().metadata.current_snapshot_id)


JOBS = {"drop-scratch-tags": JobCase({PROPERTY: "true"}, _tag, drops=("scratch-1",))}
