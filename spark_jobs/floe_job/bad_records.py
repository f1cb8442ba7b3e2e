"""What a run that takes no bad records says of them."""

from collections.abc import Sequence

from floe_job.letters.letter import Letter

NAMED_BAD_RECORDS = 5

INTOLERANT_ADVICE = (
    "Mend the table or the producer's next records, or let such records go to the dead letters "
    "(floe.deadletter.table); how to step over one by hand stands in docs/how-it-works.md."
)
UNROUTABLE_ADVICE = (
    "Mend the producer's next records, or say what becomes of such records: floe.route.on-unroutable = dead-letter "
    "or drop."
)


def bad_records(letters: Sequence[Letter], count: int, what: str, advice: str) -> str:
    """Name the first of some bad records, of ``count`` just read, with what is wrong and what to do."""
    named = "; ".join(f"{one.place}: {one.short_reason}" for one in letters[:NAMED_BAD_RECORDS])
    more = f" (the first {NAMED_BAD_RECORDS} are named)" if len(letters) > NAMED_BAD_RECORDS else ""
    return (
        f"{len(letters)} of the {count} records just read {what}{more}: {named}. Nothing was announced and the position "
        f"stays. {advice}"
    )
