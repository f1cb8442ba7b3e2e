"""Storage of a ledger: a table property, compressed and split when it is long."""

import json
import re
import zlib
from base64 import b85decode, b85encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from floe.model.exceptions import LedgerUnreadable
from floe.model.holding import Holding, LogId
from floe.model.ledger import Anchor, Ledger
from floe.model.offsets import Intervals

FORMAT = 1
MAX_VALUE_LENGTH = 3_500
"""Characters per property value; Hive's limit is 4,000."""

MAX_BYTES = 100_000_000
"""Size limit of a compressed ledger, decompressed: thousands of partitions need some megabytes."""

_REPLAY = re.compile(r"[^/]+/[0-9]{1,9}")
_PREFIX = "floe.ledger."


def property_name(group_id: str, branch: str) -> str:
    """Name the table property that contains the ledger of one connector and branch."""
    return f"{_PREFIX}{group_id}.{branch}"


def without_ledgers(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that are no part of a ledger."""
    return {name: value for name, value in properties.items() if not name.startswith(_PREFIX)}


def ledger_names(properties: Mapping[str, str]) -> list[str]:
    """Name the properties that are ledgers, of any connector and branch, without the further parts of long ones."""
    names = [name for name in properties if name.startswith(_PREFIX)]
    parts = {part for name in names for part in _parts(name, properties)}
    return [name for name in names if name not in parts]


def owner_of(name: str, branches: Iterable[str]) -> str:
    """Return the group whose ledger a property is; ``branches`` are used to separate the group from the branch."""
    owner = name.removeprefix(_PREFIX)
    return next((owner.removesuffix(f".{branch}") for branch in branches if owner.endswith(f".{branch}")), owner)


def write_properties(name: str, ledger: Ledger, max_length: int = MAX_VALUE_LENGTH) -> dict[str, str]:
    """Return the table properties that contain ``ledger``: one value, or a compressed one in parts when it is long.

    ``max_length``: characters of a value that the table's catalog keeps; more than ``MAX_VALUE_LENGTH`` are never written, so
    that tables can be moved from one catalog to another.
    """
    length = min(max_length, MAX_VALUE_LENGTH)
    text = json.dumps(_to_json(ledger), separators=(",", ":"), sort_keys=True)
    if len(text) <= length:
        return {name: text}
    packed = b85encode(zlib.compress(text.encode(), 9)).decode()
    parts = [packed[i : i + length] for i in range(0, len(packed), length)]
    header = json.dumps({"floe": FORMAT, "pieces": len(parts)}, separators=(",", ":"))
    return {name: header} | {f"{name}/{i}": part for i, part in enumerate(parts)}


def stale_properties(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the parts of an older, longer ledger that ``after`` no longer uses."""
    return [part for part in _parts(name, before) if part not in after]


def _parts(name: str, properties: Mapping[str, str]) -> Iterator[str]:
    """Yield the existing further parts of a ledger; none if it is not a ledger."""
    # counted by the header, not found by the prefix: the ledger of branch "audit/1" is not a part of that of "audit"
    try:
        header = json.loads(properties.get(name, "{}"))
        count = int(header.get("pieces", 0))
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return  # a part itself, or changed manually, which its reader reports
    yield from takewhile(properties.__contains__, (f"{name}/{i}" for i in range(count)))


def read_properties(name: str, properties: Mapping[str, str]) -> Ledger | None:
    """Read the ledger out of a table's properties; None when the table has none of this name."""
    value = properties.get(name)
    if value is None:
        return None
    try:
        fields = json.loads(value)
        if "pieces" in fields:
            packed = "".join(properties[f"{name}/{i}"] for i in range(int(fields["pieces"])))
            fields = json.loads(_unpacked(b85decode(packed)))
        if fields.get("floe") != FORMAT:
            msg = f"table property {name!r} has ledger format {fields.get('floe')!r}, this floe reads {FORMAT}"
            raise LedgerUnreadable(msg)
        return _from_json(fields)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, zlib.error) as error:
        msg = (
            f"table property {name!r} is not a ledger of floe ({error}): it was changed by hand. Set it back to the value "
            "it had (the table's metadata log keeps older versions). Nothing was written"
        )
        raise LedgerUnreadable(msg) from error


def _unpacked(packed: bytes) -> bytes:
    """Decompress a ledger, up to the size limit. Raises zlib.error, ValueError."""
    decompressor = zlib.decompressobj()
    text = decompressor.decompress(packed, MAX_BYTES)
    if not decompressor.eof:
        msg = f"it is cut, or has more than {MAX_BYTES} bytes"
        raise ValueError(msg)
    return text


def _to_json(ledger: Ledger) -> dict[str, Any]:
    logs = [
        [
            *log_id,
            {route: list(spans) for route, spans in sorted(holding.held.items())},
            holding.live_end,
            holding.position,
            *([list(holding.recovered)] if holding.recovered else []),
        ]
        for log_id, holding in sorted(ledger.holdings.items())
    ]
    return {
        "floe": FORMAT,
        "cluster": ledger.cluster_id,
        "logs": logs,
        "replays": ledger.replays,
        **({"slices": ledger.slices} if ledger.slices else {}),
        "anchor": ledger.anchor,
    }


def _from_json(fields: Mapping[str, Any]) -> Ledger:
    holdings = {}
    for topic, topic_id, partition, held, live_end, position, *more in fields["logs"]:
        spans = {str(route): _spans(spans) for route, spans in held.items()}
        copy = None if position is None else (int(position[0]), str(position[1]))
        holdings[LogId(str(topic), str(topic_id), int(partition))] = Holding(
            spans, None if live_end is None else int(live_end), copy, _spans(more[0] if more else ())
        )
    anchor = fields["anchor"]
    return Ledger(
        cluster_id=str(fields["cluster"]),
        holdings=holdings,
        replays=_replays(fields["replays"]),
        slices=tuple(map(str, fields.get("slices", ()))),
        anchor=None if anchor is None else Anchor(int(anchor[0]), int(anchor[1])),
    )


def _spans(fields: Iterable[Sequence[int]]) -> Intervals:
    spans = Intervals.of(fields)
    if spans and spans.spans[0][0] < 0:
        msg = f"it has a negative offset, {spans.spans[0]}"
        raise ValueError(msg)
    return spans


def _replays(fields: Iterable[str]) -> tuple[str, ...]:
    entries = tuple(fields)
    wrong = next((one for one in entries if _REPLAY.fullmatch(one) is None), None)
    if wrong is not None:
        msg = f"{wrong[:100]!r} is no replay"
        raise ValueError(msg)
    return entries
