"""Values without a schema into the types of an Iceberg table."""

from floe_job.conform.converters import converter, field_converter
from floe_job.conform.lookup import Lookup, StructLookup
from floe_job.conform.trees import Converter
from floe_job.conform.wishes import Wishes

__all__ = ["Converter", "Lookup", "StructLookup", "Wishes", "converter", "field_converter"]
