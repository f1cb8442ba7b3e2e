"""The error of a run that does not tolerate bad records: it counts those of all tasks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from floe_job.contract.dead_letter import DeadLetter
from floe_job.contract.result import BadKind, BadRecordCounts
from floe_job.exceptions import TooManyDeadLetters

NAMED_DEAD_LETTERS = 5


def check_ratio(dead: int, records: int, max_ratio: float, dead_letters: Sequence[DeadLetter] = ()) -> None:
    """Raise TooManyDeadLetters when ``dead`` of ``records`` are more than ``max_ratio`` of them; 1 is no limit.

    ``dead_letters`` are some of the dead ones: the first five are named.
    """
    # a quotient, not a product: 29 / 100 is 0.29, but 0.29 * 100 is less than 29
    if max_ratio >= 1 or not dead or dead / max(records, 1) <= max_ratio:
        return
    named = "; ".join(
        f"{dead_letter.place}: {dead_letter.short_reason}" for dead_letter in dead_letters[:NAMED_DEAD_LETTERS]
    )
    first = f" (the first {NAMED_DEAD_LETTERS} are named)" if named and dead > NAMED_DEAD_LETTERS else ""
    msg = (
        f"{dead} of {records} records are bad: a share of {dead / max(records, 1):.4g}, floe.deadletter.max-ratio is "
        f"{max_ratio:g}{first}{': ' + named if named else ''}. Nothing was announced and no offset was committed. Fix the "
        "table or the producer; if the records are to be dead-lettered as they are, raise floe.deadletter.max-ratio for "
        "this run."
    )
    raise TooManyDeadLetters(msg)


MAX_NAMED = 5
"""The number of bad records that an error names."""

INTOLERANT_ADVICE = (
    "Fix the table or the producer's next records, or let such records go to the dead letters: set errors.tolerance=all and "
    "floe.deadletter.table in the connector; how to skip one is in docs/how-to/skip-records.md."
)
UNROUTABLE_ADVICE = (
    "Fix the producer's next records, or say what becomes of such records: floe.route.on-unroutable = dead-letter "
    "or drop."
)


class BadRecordCollector:
    """Counts the bad records of one task."""

    def __init__(self) -> None:
        self._kinds: Counter[BadKind] = Counter()
        self._named: list[DeadLetter] = []

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def take(self, dead_letters: Sequence[DeadLetter], what: str, advice: str) -> None:
        """Take bad records of one kind."""
        self._kinds.update(BadKind(what, one.error, advice) for one in dead_letters)
        room = max(MAX_NAMED - len(self._named), 0)
        self._named += [replace(one, key=None, value=None, headers=()) for one in dead_letters[:room]]

    def counts(self, read: int) -> BadRecordCounts:
        """Return what was counted among ``read`` records."""
        return BadRecordCounts(read, dict(self._kinds), tuple(self._named))


def bad_records(parts: Sequence[BadRecordCounts]) -> str:
    """Return how many records of all tasks are bad and why, the places of the first ones, and what to do."""
    read = sum(part.read for part in parts)
    kinds: Counter[BadKind] = Counter()
    for part in parts:
        kinds.update(part.kinds)
    reasons: dict[str, Counter[str]] = {}
    for kind, count in kinds.items():
        reasons.setdefault(kind.what, Counter())[kind.error] += count
    message = [(sum(errors.values()), what, _listed(errors)) for what, errors in sorted(reasons.items())]
    if len(message) == 1:
        count, what, listed = message[0]
        head = f"{count} of the {read} records just read {what} ({listed})"
    else:
        each = ", ".join(f"{count} {what} ({listed})" for count, what, listed in message)
        head = f"{sum(kinds.values())} of the {read} records just read are bad: {each}"
    dead_letters = sorted(
        (one for part in parts for one in part.named), key=lambda one: (one.topic, one.partition, one.offset)
    )
    named = "; ".join(f"{one.place}: {one.short_reason}" for one in dead_letters[:MAX_NAMED])
    more = f" (the first {MAX_NAMED} are named)" if sum(kinds.values()) > MAX_NAMED else ""
    advice = " ".join(sorted({kind.advice for kind in kinds}))
    return f"{head}{more}: {named}. Nothing was announced and no offset was committed. {advice}"


def _listed(errors: Counter[str]) -> str:
    return ", ".join(
        f"{count} {error}" for error, count in sorted(errors.items(), key=lambda item: (-item[1], item[0]))
    )
