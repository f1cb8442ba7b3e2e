"""Errors of dead letters.

JobError
├── LettersTableUnsuitable  Terminal: the dead-letter table has not the columns that letters need
├── LetterRefused           Terminal: the dead-letter topic does not take a letter, nor will it later
├── LetterUndelivered       Retryable: the dead-letter topic did not take a letter
└── TooManyDeadLetters      Terminal: more records of a run are bad than it may have
"""

from floe.exceptions import Retryable, Terminal
from floe_job.exceptions import JobError


class LettersTableUnsuitable(JobError, Terminal):
    """The dead-letter table lacks a column, or has one that letters do not fit into."""


class LetterRefused(JobError, Terminal):
    """The dead-letter topic refuses a letter until somebody changes something."""


class LetterUndelivered(JobError, Retryable):
    """A letter did not reach the dead-letter topic."""


class TooManyDeadLetters(JobError, Terminal):
    """The share of bad records is above ``floe.deadletter.max-ratio``."""
