"""What a run that takes no bad records says of them: all that were read, over all tasks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from floe_job.letters.letter import Letter

MAX_NAMED = 5
"""Bad records that an error names."""

INTOLERANT_ADVICE = (
    "Fix the table or the producer's next records, or let such records go to the dead letters: set errors.tolerance=all and "
    "floe.deadletter.table in the connector; how to step over one by hand stands in docs/how-it-works.md."
)
UNROUTABLE_ADVICE = (
    "Fix the producer's next records, or say what becomes of such records: floe.route.on-unroutable = dead-letter "
    "or drop."
)


class BadKind(NamedTuple):
    """One way to be bad: what is said of such records, the error's class name, and what to do."""

    what: str
    error: str
    advice: str


@dataclass(frozen=True)
class BadRecordCounts:
    """The bad records of one task among the ``read`` ones; ``named``: some of them, without the record itself."""

    read: int = 0
    kinds: Mapping[BadKind, int] = field(default_factory=dict)
    named: tuple[Letter, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.kinds)


class BadRecordCollector:
    """Counts the bad records of one task."""

    def __init__(self) -> None:
        self._kinds: Counter[BadKind] = Counter()
        self._named: list[Letter] = []

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def take(self, letters: Sequence[Letter], what: str, advice: str) -> None:
        """Take bad records of one kind."""
        self._kinds.update(BadKind(what, one.error, advice) for one in letters)
        room = max(MAX_NAMED - len(self._named), 0)
        self._named += [replace(one, key=None, value=None, headers=()) for one in letters[:room]]

    def counts(self, read: int) -> BadRecordCounts:
        """Return what was counted among ``read`` records."""
        return BadRecordCounts(read, dict(self._kinds), tuple(self._named))


def bad_records(parts: Sequence[BadRecordCounts]) -> str:
    """Say how many records of all tasks are bad and why, name the first of them, and say what to do."""
    read = sum(part.read for part in parts)
    kinds: Counter[BadKind] = Counter()
    for part in parts:
        kinds.update(part.kinds)
    reasons: dict[str, Counter[str]] = {}
    for kind, count in kinds.items():
        reasons.setdefault(kind.what, Counter())[kind.error] += count
    told = [(sum(errors.values()), what, _listed(errors)) for what, errors in sorted(reasons.items())]
    if len(told) == 1:
        count, what, listed = told[0]
        head = f"{count} of the {read} records just read {what} ({listed})"
    else:
        each = ", ".join(f"{count} {what} ({listed})" for count, what, listed in told)
        head = f"{sum(kinds.values())} of the {read} records just read are bad: {each}"
    letters = sorted(
        (one for part in parts for one in part.named), key=lambda one: (one.topic, one.partition, one.offset)
    )
    named = "; ".join(f"{one.place}: {one.short_reason}" for one in letters[:MAX_NAMED])
    more = f" (the first {MAX_NAMED} are named)" if sum(kinds.values()) > MAX_NAMED else ""
    advice = " ".join(sorted({kind.advice for kind in kinds}))
    return f"{head}{more}: {named}. Nothing was announced and the position stays. {advice}"


def _listed(errors: Counter[str]) -> str:
    return ", ".join(
        f"{count} {error}" for error, count in sorted(errors.items(), key=lambda item: (-item[1], item[0]))
    )
