"""Replay requests: what the trigger form asks for, checked as far as no log is needed for it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from floe.model.exceptions import PlanRefused

Bounds = tuple[int | None, int | None]
"""``[start, end)``; None: as far as a replay may go on that side."""

MAX_NAMED = 5
"""Problems of a request that its refusal names."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,9}")
_LAST = datetime.max.replace(tzinfo=UTC, microsecond=999_000)


class Overlap(StrEnum):
    """What becomes of offsets that a table contains already; each is a kind of slice."""

    SKIP = "skip"
    """They are skipped, row by row."""
    APPEND = "append"
    """They are appended again."""
    REPLACE = "replace"
    """Their rows are removed and rewritten."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """What to read again of one topic.

    ``ranges``: bounds by partition, none for all partitions. ``window``: ``[start, end)`` in epoch milliseconds instead
    of ranges. ``max_records``: maximum of offsets of a slice, None for no limit. ``dead_letters``: read only the records
    that are on record as bad. ``is_open``: it does not say what to read, which is allowed for a dry run only.
    """

    topic: str
    ranges: Mapping[int, Bounds]
    window: Bounds | None
    tables: tuple[str, ...]
    overlap: Overlap
    max_records: int | None
    dead_letters: bool = False
    is_open: bool = False

    @property
    def replaces(self) -> bool:
        """Return whether its slices remove the rows that the tables have."""
        return self.overlap is Overlap.REPLACE and not self.dead_letters

    @classmethod
    def of(
        cls,
        params: Mapping[str, Any],
        topics: Sequence[str],
        tables: Sequence[str],
        limit: int | None,
        *,
        may_name_any: bool = False,
    ) -> "ReplayRequest":
        """Read a run's params against the connector's topics and tables; ``limit`` is its own of records.

        ``may_name_any``: records name their tables, any may be asked for, and no name means all that they name.

        Raises PlanRefused for what can be refused without a log.
        """
        ranges, window = _ranges(params.get("ranges")), _window(params)
        if ranges and window:
            msg = "the replay names ranges and times, which may contradict each other: give either `ranges` or times"
            raise PlanRefused(msg, code="FLOE-301")
        overlap, dead_letters = _overlap(params.get("overlap")), _switch("dead_letters", params.get("dead_letters"))
        if dead_letters and overlap is not Overlap.SKIP:
            msg = (
                f"the replay asks for dead_letters and overlap={overlap.value}: dead letters have no rows to overlap with. "
                "Leave overlap at skip, or replay the range without dead_letters"
            )
            raise PlanRefused(msg, code="FLOE-301")
        everything, is_bounded = _switch("all", params.get("all")), bool(ranges) or window is not None
        if everything and is_bounded:
            msg = "the replay names `all` and offsets or times, which contradict each other: give one of them"
            raise PlanRefused(msg, code="FLOE-301")
        if overlap is Overlap.APPEND and not is_bounded:
            msg = (
                "overlap=append may add rows that the tables already contain, so it needs `ranges`, `from_time` or "
                "`to_time`. Nothing was read. Name the range, or leave overlap at skip"
            )
            raise PlanRefused(msg, code="FLOE-301")
        return cls(
            topic=_topic(params.get("topic"), topics),
            ranges=ranges,
            window=window,
            tables=_tables(params.get("tables"), tables, may_name_any=may_name_any),
            overlap=overlap,
            max_records=_limit(params.get("max_records"), limit),
            dead_letters=dead_letters,
            is_open=not (everything or is_bounded or dead_letters),
        )


def raise_problems(problems: Iterable[str]) -> None:
    """Raise PlanRefused with the problems, if there are any."""
    found = list(problems)
    if found:
        more = f"; and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
        msg = f"nothing is replayed: {'; '.join(found[:MAX_NAMED])}{more}"
        raise PlanRefused(msg, code="FLOE-302")


def _topic(value: Any, topics: Sequence[str]) -> str:
    if value is None and len(topics) == 1:
        return topics[0]
    if value not in topics:
        asked = "the replay names no topic" if value is None else f"topic {value!r} is not configured in this connector"
        msg = f"{asked}: set `topic` to one of {list(topics)}"
        raise PlanRefused(msg, code="FLOE-301")
    return str(value)


def _tables(value: Any, tables: Sequence[str], *, may_name_any: bool) -> tuple[str, ...]:
    if may_name_any:
        return tuple(dict.fromkeys(map(str, value or ())))
    unknown_tables = [table for table in value or () if table not in tables]
    if unknown_tables:
        asked = f"table {unknown_tables[0]!r} is not configured in this connector"
        msg = f"{asked}: choose `tables` among {list(tables)}, or none for all"
        raise PlanRefused(msg, code="FLOE-301")
    return tuple(table for table in tables if not value or table in value)


def _overlap(value: Any) -> Overlap:
    try:
        return Overlap(value or Overlap.SKIP)
    except ValueError:
        msg = f"overlap {value!r} is not known: use one of {[o.value for o in Overlap]}"
        raise PlanRefused(msg, code="FLOE-301") from None


def _switch(name: str, value: Any) -> bool:
    if not isinstance(value, bool | None):
        msg = f"{name} is {value!r}: write true or false"
        raise PlanRefused(msg, code="FLOE-301")
    return bool(value)


def _limit(value: Any, limit: int | None) -> int | None:
    if value is None:
        return limit
    if type(value) is not int or value < 1:
        msg = f"max_records is {value!r}: write a number of records of at least 1, or nothing for the connector's own"
        raise PlanRefused(msg, code="FLOE-301")
    return value


def _ranges(value: Any) -> dict[int, Bounds]:
    if value is None or value == {}:
        return {}
    if not isinstance(value, Mapping):
        msg = f'ranges are {value!r}: write an object of partitions, e.g. {{"0": [100, 200]}}'
        raise PlanRefused(msg, code="FLOE-301")
    problems = [problem for key, pair in value.items() if (problem := _malformed(key, pair))]
    raise_problems(problems)
    return {int(key): (pair[0], pair[1]) for key, pair in value.items()}


def _malformed(key: Any, pair: Any) -> str | None:
    if not (isinstance(key, str) and _NUMBER.fullmatch(key)):
        return f'{str(key)[:100]!r} is no partition: write its number, as in {{"0": [100, 200]}}'
    if not isinstance(pair, Sequence) or len(pair) != 2 or not all(n is None or type(n) is int for n in pair):
        return (
            f"the range of partition {key} is {pair!r}: write [start, end) as two whole numbers, or null for no bound"
        )
    start, end = pair
    if any(n is not None and n < 0 for n in pair):
        return f"the range of partition {key} is {[start, end]}: offsets are not negative"
    if start is not None and end is not None and start >= end:
        what = "empty" if start == end else "reversed"
        return f"the range of partition {key} is {what}: {[start, end]}; write [start, end) with start below end"
    return None


def _window(params: Mapping[str, Any]) -> Bounds | None:
    given = {name: params.get(name) or None for name in ("from_time", "to_time")}
    if not any(given.values()):
        return None
    start, end = (None if text is None else epoch_ms(name, text) for name, text in given.items())
    if start is not None and end is not None and start >= end:
        msg = f"from_time {given['from_time']!r} is not before to_time {given['to_time']!r}: the window is empty"
        raise PlanRefused(msg, code="FLOE-301")
    return start, end


def epoch_ms(name: str, text: Any) -> int:
    """Return the first millisecond at or after a moment, which is as fine as Kafka's timestamps are; none before 1970.

    Kafka takes negative timestamps for requests of another kind.
    """
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        msg = f"{name} is {text!r}: write an ISO date and time with its zone, e.g. 2026-01-31T12:00:00+01:00"
        raise PlanRefused(msg, code="FLOE-301") from None
    if moment.tzinfo is None:
        msg = f"{name} is {text!r}, which has no time zone: add one, e.g. {text}Z for UTC"
        raise PlanRefused(msg, code="FLOE-301")
    return max(0, -((EPOCH - min(moment, _LAST)) // timedelta(milliseconds=1)))
