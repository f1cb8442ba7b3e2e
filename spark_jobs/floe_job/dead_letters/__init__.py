"""Dead letters: records that cannot become rows, kept whole in a table or a topic, logged, and bounded in number."""

from floe_job.contract.dead_letter import DeadLetter
from floe_job.dead_letters.limits import check_ratio
from floe_job.dead_letters.log import DeadLetterLog
from floe_job.dead_letters.table_rows import DEAD_LETTERS_SCHEMA, check_suitable, dead_letters_to_arrow
from floe_job.dead_letters.topic import DeadLetterTopic
from floe_job.exceptions import (
    DeadLetterRefused,
    DeadLetterTableUnsuitable,
    DeadLetterUndelivered,
    TooManyDeadLetters,
)

__all__ = [
    "DEAD_LETTERS_SCHEMA",
    "DeadLetter",
    "DeadLetterLog",
    "DeadLetterRefused",
    "DeadLetterTableUnsuitable",
    "DeadLetterTopic",
    "DeadLetterUndelivered",
    "TooManyDeadLetters",
    "check_ratio",
    "check_suitable",
    "dead_letters_to_arrow",
]
