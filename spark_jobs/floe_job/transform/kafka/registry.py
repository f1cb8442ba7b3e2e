"""The code of Kafka's own transforms, by the class of their settings."""

from typing import Final

from floe_job.transform.family import Family, code, each
from floe_job.transform.reads import Reads

KAFKA: Final = {
    "kafka.replace_field.ReplaceField": each("kafka.replace_field", "ReplaceFieldChange"),
    "kafka.insert_field.InsertField": each("kafka.insert_field", "InsertFieldChange"),
    "kafka.cast.Cast": each("kafka.cast", "CastChange"),
    "kafka.timestamp_converter.TimestampConverter": each("kafka.timestamp_converter", "TimestampConverterChange"),
    "kafka.mask_field.MaskField": each("kafka.mask_field", "MaskFieldChange"),
    "kafka.extract_field.ExtractField": each("kafka.extract_field", "ExtractFieldChange"),
    "kafka.flatten.Flatten": each("kafka.flatten", "FlattenChange"),
    "kafka.hoist_field.HoistField": each("kafka.hoist_field", "HoistFieldChange"),
    "kafka.schema_metadata.SetSchemaMetadata": each("kafka.schema_metadata", "SchemaMetadataChange"),
    "kafka.routers.RegexRouter": Family(code("kafka.routers", "RegexRouting"), reads=Reads.NOTHING),
    "kafka.routers.TimestampRouter": Family(code("kafka.routers", "TimestampRouting"), reads=Reads.NOTHING),
    "kafka.routers.Filter": Family(code("kafka.routers", "Filtering"), reads=Reads.NOTHING),
    "kafka.headers.DropHeaders": Family(code("kafka.headers", "HeaderDrop"), reads=Reads.NOTHING),
    "kafka.headers.InsertHeader": Family(code("kafka.headers", "HeaderInsert"), reads=Reads.NOTHING),
    "kafka.headers.HeaderFrom": Family(code("kafka.headers", "HeaderCopy"), reads=Reads.COLUMNS),
    "kafka.value_to_key.ValueToKey": Family(code("kafka.value_to_key", "KeyOfValue"), reads=Reads.COLUMNS),
}
