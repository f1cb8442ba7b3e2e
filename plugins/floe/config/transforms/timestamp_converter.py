"""The settings of Kafka's ``TimestampConverter``: a time of another type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.expressions.date_pattern import pattern_doubts
from floe.config.keys.reader import OptionReader
from floe.config.transforms.kafka_sides import FILLS, Sided, choice_of, date_pattern_of, sided_classes, text_of
from floe.config.transforms.options import Side, of_job

STRING, UNIX, DATE, TIME, TIMESTAMP = "string", "unix", "Date", "Time", "Timestamp"
TARGETS: Final = (STRING, UNIX, DATE, TIME, TIMESTAMP)
_FINE: Final = ("nanoseconds", "microseconds")
PRECISIONS: Final = ("nanoseconds", "microseconds", "milliseconds", "seconds")
_TARGET, _FIELD, _FORMAT, _PRECISION = "target.type", "field", "format", "unix.precision"


@dataclass(frozen=True)
class TimestampConverter(Sided):
    """``target``: the type. ``field``: "" for whole values. ``format``: of texts, as SimpleDateFormat has it; "" for none.

    ``precision``: of numbers.
    """

    engine: ClassVar = of_job("kafka.timestamp_converter:TimestampConverterChange", changes="side", reads="columns")

    target: str = TIMESTAMP
    field: str = ""
    format: str = ""
    precision: str = "milliseconds"

    @property
    def doubts(self) -> tuple[str, ...]:
        doubts = pattern_doubts(self.format, reads=self.target != STRING)
        found = tuple(f"{_FORMAT} {self.format[:60]!r}: {doubt}" for doubt in doubts)
        if self.precision in _FINE:
            found += (
                f"{_PRECISION} {self.precision}: what is finer than a millisecond is cut, as by Java. Leave the field out of "
                "this transform, and write the number into a long column, to keep it",
            )
        return found

    def writes(self, name: str) -> bool:
        return not self.field or name == self.field


def _read(options: OptionReader, side: Side) -> TimestampConverter | None:
    target = choice_of(options, _TARGET, TARGETS)
    pattern = date_pattern_of(options, _FORMAT)
    if target == STRING and not pattern:
        options.problems.append(
            f"{options.prefix}{_FORMAT} is missing: {_TARGET} is {STRING}, set the pattern of its texts"
        )
    return TimestampConverter(
        side,
        options.boolean(FILLS, False),
        target,
        text_of(options, _FIELD) or "",
        pattern,
        choice_of(options, _PRECISION, PRECISIONS, "milliseconds"),
    )


TIMESTAMP_CONVERTER: Final = sided_classes("TimestampConverter", (_TARGET, _FIELD, _FORMAT, _PRECISION, FILLS), _read)
