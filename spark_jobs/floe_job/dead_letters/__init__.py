"""Dead letters: records that cannot become rows, kept whole in a table or a topic, logged, and bounded in number."""

from floe_job.contract.dead_letter import DeadLetter
from floe_job.dead_letters.limits import check_ratio
from floe_job.dead_letters.log import DeadLetterLog
from floe_job.dead_letters.table_rows import dead_letters_to_arrow
from floe_job.dead_letters.topic import DeadLetterTopic
from floe_job.exceptions import (
    DeadLetterRefused,
    DeadLetterUndelivered,
    TooManyDeadLetters,
)

__all__ = [
    "DeadLetter",
    "DeadLetterLog",
    "DeadLetterRefused",
    "DeadLetterTopic",
    "DeadLetterUndelivered",
    "TooManyDeadLetters",
    "check_ratio",
    "dead_letters_to_arrow",
]
