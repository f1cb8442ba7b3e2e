"""Dead letters: records that cannot become rows, kept whole in a table or a topic, logged, and bounded in number."""

from floe_job.letters.exceptions import (
    LetterRefused,
    LettersTableUnsuitable,
    LetterUndelivered,
    TooManyDeadLetters,
)
from floe_job.letters.letter import Letter
from floe_job.letters.log import LetterLog
from floe_job.letters.ratio import check_ratio
from floe_job.letters.rows import LETTERS_SCHEMA, letters_to_arrow, refuse_unsuitable
from floe_job.letters.topic import LetterTopic

__all__ = [
    "LETTERS_SCHEMA",
    "Letter",
    "LetterLog",
    "LetterRefused",
    "LetterTopic",
    "LetterUndelivered",
    "LettersTableUnsuitable",
    "TooManyDeadLetters",
    "check_ratio",
    "letters_to_arrow",
    "refuse_unsuitable",
]
