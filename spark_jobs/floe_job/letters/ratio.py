"""The share of bad records beyond which a run fails rather than commits."""

from collections.abc import Sequence

from floe_job.letters.exceptions import TooManyDeadLetters
from floe_job.letters.letter import Letter

NAMED_LETTERS = 5


def check_ratio(dead: int, records: int, max_ratio: float, letters: Sequence[Letter] = ()) -> None:
    """Raise TooManyDeadLetters when ``dead`` of ``records`` are more than ``max_ratio`` of them; 1 is no limit.

    ``letters`` are some of the dead ones: the first five are named.
    """
    # a quotient, not a product: 29 / 100 is 0.29, but 0.29 * 100 is less than 29
    if max_ratio >= 1 or not dead or dead / max(records, 1) <= max_ratio:
        return
    named = "; ".join(f"{letter.place}: {letter.short_reason}" for letter in letters[:NAMED_LETTERS])
    first = f" (the first {NAMED_LETTERS} are named)" if named and dead > NAMED_LETTERS else ""
    msg = (
        f"{dead} of {records} records are bad: a share of {dead / max(records, 1):.4g}, floe.deadletter.max-ratio is "
        f"{max_ratio:g}{first}{': ' + named if named else ''}. Nothing was announced and the position stays. Mend the table "
        "or the producer; if the records are to be dead-lettered as they are, raise floe.deadletter.max-ratio for this run."
    )
    raise TooManyDeadLetters(msg)
