"""The names of logical types: Kafka Connect's own, and those of Avro that Connect has no name for."""

from typing import Final

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
"""Bytes: the unscaled value, big-endian two's complement. The scale is in the parameter ``scale``."""
DATE: Final = "org.apache.kafka.connect.data.Date"
"""int32: days since 1970-01-01."""
TIME: Final = "org.apache.kafka.connect.data.Time"
"""int32: milliseconds since midnight."""
TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"
"""int64: milliseconds since 1970-01-01T00:00:00Z."""

SCALE: Final = "scale"
PRECISION: Final = "connect.decimal.precision"
"""A parameter that converters add to decimals; Connect itself ignores it."""

UUID: Final = "uuid"
"""A string: a UUID in its canonical form. The sink has this name, Connect itself does not."""

AVRO_TIME_MICROS: Final = "avro.time-micros"
"""int64: microseconds since midnight."""
AVRO_TIMESTAMP_MICROS: Final = "avro.timestamp-micros"
"""int64: microseconds since 1970-01-01T00:00:00Z."""
AVRO_LOCAL_TIMESTAMP_MILLIS: Final = "avro.local-timestamp-millis"
"""int64: milliseconds since 1970-01-01T00:00:00 of no zone."""
AVRO_LOCAL_TIMESTAMP_MICROS: Final = "avro.local-timestamp-micros"
"""int64: microseconds since 1970-01-01T00:00:00 of no zone."""
AVRO_UUID: Final = "avro.uuid"
"""A string: a UUID in its canonical form."""
