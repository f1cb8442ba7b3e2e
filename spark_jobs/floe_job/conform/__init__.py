"""Values without a schema into the types of an Iceberg table."""

from floe_job.conform.converters import Converter, converter, field_converter

__all__ = ["Converter", "converter", "field_converter"]
