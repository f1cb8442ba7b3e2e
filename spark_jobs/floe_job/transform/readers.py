"""What reads the values and keys of records for a chain of transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from floe.config.converters.base import ConverterSpec
from floe.config.sections.transforms import reads_keys
from floe_job.contract.task import Task
from floe_job.convert.base import Converters, Parsed
from floe_job.convert.context import ConverterContext, LookupRecorder
from floe_job.convert.header_framing import framing_of
from floe_job.convert.makers import converters_of
from floe_job.source.record_batch import Records
from floe_job.stages import KEY_CONVERTER, VALUE_CONVERTER

Read = Callable[[Records, Sequence[int]], Parsed]
"""Parses what some records have, by their places; what it rejects is named by its place among these."""


@dataclass(frozen=True)
class Readers:
    """``values``, ``keys``: read those of some of the records."""

    values: Read
    keys: Read

    @classmethod
    def of(cls, task: Task, converters: Converters, key_lookups: LookupRecorder) -> Readers:
        """Make those of a task. ``converters``: of its values. Raises RegistryMisconfigured."""
        has_keys = reads_keys(task.routes.transforms)
        spec = task.routes.key_converter if has_keys else None
        return cls(value_reader(converters), key_reader(spec, ConverterContext.of_attempt(task.attempt, key_lookups)))


def value_reader(converters: Converters) -> Read:
    """Make a reader of values."""

    def read(records: Records, places: Sequence[int]) -> Parsed:
        some = records if len(places) == len(records) else records.select(places)
        return converters.whole(some.bytes_of_values)

    return read


def key_reader(spec: ConverterSpec | None, context: ConverterContext) -> Read:
    """Make a reader of keys; without a converter, none can be read. Raises RegistryMisconfigured."""
    if spec is None:
        return _none
    converters, framed = converters_of(spec, context), framing_of(spec, context)

    def read(records: Records, places: Sequence[int]) -> Parsed:
        some = records.select(places)
        keys = framed(replace(some, values=some.messages.key_values(), encoded=None))
        parsed = converters.whole(keys.bytes_of_values)
        rejected = (
            replace(one, stage=KEY_CONVERTER) if one.stage == VALUE_CONVERTER else one for one in parsed.rejected
        )
        return Parsed(parsed.values, tuple(rejected))

    return read


def _none(records: Records, places: Sequence[int]) -> Parsed:
    problem = "a transform reads what its settings do not say that it reads"
    raise ValueError(problem)


UNREAD = Readers(_none, _none)
"""Reads nothing."""
