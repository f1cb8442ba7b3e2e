"""Dead letters: records that cannot become rows, kept whole in a table or a topic, logged, and bounded in number."""

from floe_job.contract.letter import Letter
from floe_job.dead_letters.limits import check_ratio
from floe_job.dead_letters.log import LetterLog
from floe_job.dead_letters.table_rows import LETTERS_SCHEMA, letters_to_arrow, refuse_unsuitable
from floe_job.dead_letters.topic import LetterTopic
from floe_job.exceptions import (
    LetterRefused,
    LettersTableUnsuitable,
    LetterUndelivered,
    TooManyDeadLetters,
)

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
