"""Errors of the Spark job.

    FloeError
    └── JobError
        ├── InvalidRecord           one record; becomes a ``Rejected``, never leaves ``decode()``
        │   ├── TransformRefused    a value that a transform cannot change
        │   ├── Malformed           not JSON, not UTF-8, not an object, too deep; not of its schema
        │   ├── Unconvertible       a value that its column cannot hold without loss
        │   ├── UnusableSchema      a schema that no record can be read by
        │   ├── UnknownSchema       a schema that the registry does not have
        │   └── Unnameable          a column that evolution may not add
        │       ├── NameTooLong     its name
        │       ├── NestedTooDeep   its levels
        │       └── TooManyColumns  its table
        ├── SchemaConflict          Terminal: two types for one new column, and the policy is to fail
        ├── RangeLost               Terminal: the broker no longer has the offsets
        ├── BatchTooLarge           Terminal: a batch of Kafka's is larger than the connector takes
        ├── BatchCorrupt            Retryable: a batch of Kafka's is not as it was written
        ├── RangeStalled            Retryable: no progress for too long
        ├── OwnTransformFailed      Terminal: the class of a user's transform is wrong
        └── ReadFailed              Retryable: the broker refused or failed otherwise

A bad record is data, not an error: its short ``reason`` goes into its dead letter.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pyiceberg.types import PrimitiveType

from floe.exceptions import FloeError, Retryable, Terminal

# Stages: the steps that refuse records, by the names that dead letters give them.
#
# Those that Kafka Connect has too are called as it calls them. Dead letters that older versions wrote say ``decode``
# for ``value_converter`` and ``convert`` for ``coerce``; nothing of floe reads the stage of a stored dead letter.


KEY_CONVERTER: Final = "key_converter"
VALUE_CONVERTER: Final = "value_converter"
HEADER_CONVERTER: Final = "header_converter"
TRANSFORM: Final = "transform"
ROUTE: Final = "route"
TABLE: Final = "table"
"""The table refuses: no file can be written for it."""

COERCE: Final = "coerce"
"""A value does not fit its column."""

SCHEMA: Final = "schema"
"""A column may not be added."""

STAGES: Final = frozenset({KEY_CONVERTER, VALUE_CONVERTER, HEADER_CONVERTER, TRANSFORM, ROUTE, TABLE, COERCE, SCHEMA})

_CONNECT: Final[Mapping[str, str]] = MappingProxyType(
    {
        KEY_CONVERTER: "KEY_CONVERTER",
        VALUE_CONVERTER: "VALUE_CONVERTER",
        HEADER_CONVERTER: "HEADER_CONVERTER",
        TRANSFORM: "TRANSFORMATION",
    }
)


def connect_stage(stage: str) -> str:
    """Return Connect's word, of ``org.apache.kafka.connect.runtime.errors.Stage``: what a sink's task does is TASK_PUT."""
    return _CONNECT.get(stage, "TASK_PUT")


REASON_LENGTH = 300
VALUE_LENGTH = 60


class JobError(FloeError):
    """Any error of the Spark job."""


class InvalidRecord(JobError):
    """One record cannot become a row. ``stage`` names the step that refused it."""

    stage = VALUE_CONVERTER

    @property
    def reason(self) -> str:
        """The message, limited in length: a reason never contains the whole record."""
        return clip(str(self), REASON_LENGTH)


class Malformed(InvalidRecord):
    """The value is not one JSON object in UTF-8, or whatever else its converter reads."""


class TransformRefused(InvalidRecord):
    """A transform cannot change the value, or the key: the message says which field has what."""

    stage = TRANSFORM


class UnusableSchema(InvalidRecord):
    """A schema that no record can be read by: it is not one, or has what a table cannot have."""


class UnknownSchema(InvalidRecord):
    """A record names a schema that the registry does not have."""


class Unconvertible(InvalidRecord):
    """A value that its column's type cannot hold without loss. ``wider`` is the promoted type that could."""

    stage = COERCE

    def __init__(self, problem: str, wider: PrimitiveType | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.wider = wider
        self.path: tuple[str, ...] = ()

    def inside(self, name: str) -> Unconvertible:
        """Add the name of a column, outermost last; returns itself to be raised again."""
        self.path = (name, *self.path)
        return self

    def __str__(self) -> str:
        if not self.path:
            return self.problem
        return f"column {clip('.'.join(self.path), VALUE_LENGTH)!r}: {self.problem}"


class Unnameable(InvalidRecord):
    """A record requires a column beyond the limits on number, depth or name."""

    stage = SCHEMA


class NameTooLong(Unnameable):
    """A new column's name is too long."""


class NestedTooDeep(Unnameable):
    """A new column has too many levels."""


class TooManyColumns(Unnameable):
    """With the new column the table would have too many columns."""


class SchemaConflict(JobError, Terminal):
    """Records contain one new column with two types, and ``floe.schema.on-conflict`` is ``fail``."""

    code = "FLOE-503"


class RangeLost(JobError, Terminal):
    """Offsets of a range are gone from the broker."""

    code = "FLOE-506"


class BatchTooLarge(JobError, Terminal):
    """A batch of Kafka's is, once decompressed, larger than ``floe.batch.max-bytes``."""

    code = "FLOE-507"


class BatchCorrupt(JobError, Retryable):
    """A batch of Kafka's fails its checksum, or cannot be decompressed. Another replica may have it whole."""

    code = "FLOE-508"


class RangeStalled(JobError, Retryable):
    """A range made no progress for too long."""

    code = "FLOE-509"


class ReadFailed(JobError, Retryable):
    """A range cannot be read."""

    code = "FLOE-510"


class ReadNotPermitted(JobError, Terminal):
    """The Kafka client may not read a topic."""

    code = "FLOE-455"


class WriteFailed(JobError, Retryable):
    """Data files could not be written."""

    code = "FLOE-511"


class OwnTransformFailed(JobError, Terminal):
    """A transform that users write in Python raised an error, or returned what is no batch of the records that it got."""

    code = "FLOE-521"


class BadRecords(JobError, Terminal):
    """Records cannot become rows, and cannot be stored as dead letters either."""

    code = "FLOE-501"


class SliceFailed(JobError, Retryable):
    """The job, or one of its workers, failed in a way that can be retried."""

    code = "FLOE-515"


class SliceRefused(JobError, Terminal):
    """The job, or one of its workers, failed in a way that requires manual action."""

    code = "FLOE-514"


def clip(text: str, length: int) -> str:
    """Shorten ``text`` to ``length`` characters, marking the cut."""
    return text if len(text) <= length else text[: length - 1] + "…"


class DeadLetterRefused(JobError, Terminal):
    """The dead-letter topic refuses a dead letter until the operator changes something."""

    code = "FLOE-504"


class DeadLetterUndelivered(JobError, Retryable):
    """A dead letter did not reach the dead-letter topic."""

    code = "FLOE-505"


class TooManyDeadLetters(JobError, Terminal):
    """The ratio of bad records is above ``floe.deadletter.max-ratio``."""

    code = "FLOE-502"


class PackageMissing(JobError, Terminal):
    """A package that a converter needs is not installed where Spark's workers run."""

    code = "FLOE-520"
