"""The code of Kafka's own transforms, by the class of their settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from floe.config.transforms.kafka.cast import Cast
from floe.config.transforms.kafka.extract_field import ExtractField
from floe.config.transforms.kafka.flatten import Flatten
from floe.config.transforms.kafka.headers import DropHeaders, HeaderFrom, InsertHeader
from floe.config.transforms.kafka.hoist_field import HoistField
from floe.config.transforms.kafka.insert_field import InsertField
from floe.config.transforms.kafka.mask_field import MaskField
from floe.config.transforms.kafka.replace_field import ReplaceField
from floe.config.transforms.kafka.routers import Filter, RegexRouter, TimestampRouter
from floe.config.transforms.kafka.schema_metadata import SetSchemaMetadata
from floe.config.transforms.kafka.timestamp_converter import TimestampConverter
from floe.config.transforms.kafka.value_to_key import ValueToKey
from floe.config.transforms.options import TransformOptions
from floe_job.transform.base import Reads
from floe_job.transform.family import Family
from floe_job.transform.kafka.cast import CastChange
from floe_job.transform.kafka.extract_field import ExtractFieldChange
from floe_job.transform.kafka.flatten import FlattenChange
from floe_job.transform.kafka.headers import HeaderCopy, HeaderDrop, HeaderInsert
from floe_job.transform.kafka.hoist_field import HoistFieldChange
from floe_job.transform.kafka.insert_field import InsertFieldChange
from floe_job.transform.kafka.mask_field import MaskFieldChange
from floe_job.transform.kafka.replace_field import ReplaceFieldChange
from floe_job.transform.kafka.routers import Filtering, RegexRouting, TimestampRouting
from floe_job.transform.kafka.schema_metadata import SchemaMetadataChange
from floe_job.transform.kafka.timestamp_converter import TimestampConverterChange
from floe_job.transform.kafka.value_to_key import KeyOfValue
from floe_job.transform.value_change import EachValue, ValueChange


def _each(change: Callable[[Any], ValueChange]) -> Family:
    """Return the family of a transform that changes each value, or each key, by itself."""
    return Family(lambda options: EachValue(change(options), options.side), reads=Reads.COLUMNS)


KAFKA: Final[dict[type[TransformOptions], Family]] = {
    ReplaceField: _each(ReplaceFieldChange),
    InsertField: _each(InsertFieldChange),
    Cast: _each(CastChange),
    TimestampConverter: _each(TimestampConverterChange),
    MaskField: _each(MaskFieldChange),
    ExtractField: _each(ExtractFieldChange),
    Flatten: _each(FlattenChange),
    HoistField: _each(HoistFieldChange),
    SetSchemaMetadata: _each(SchemaMetadataChange),
    RegexRouter: Family(RegexRouting, reads=Reads.NOTHING),
    TimestampRouter: Family(TimestampRouting, reads=Reads.NOTHING),
    Filter: Family(Filtering, reads=Reads.NOTHING),
    DropHeaders: Family(HeaderDrop, reads=Reads.NOTHING),
    InsertHeader: Family(HeaderInsert, reads=Reads.NOTHING),
    HeaderFrom: Family(HeaderCopy, reads=Reads.COLUMNS),
    ValueToKey: Family(KeyOfValue, reads=Reads.COLUMNS),
}
