"""Values without a schema into the types of an Iceberg table."""

from floe_job.types.coercion import Converter, converter, field_converter
from floe_job.types.column_lookup import Lookup, StructLookup
from floe_job.types.promotions import PromotionRequests

__all__ = ["Converter", "Lookup", "PromotionRequests", "StructLookup", "converter", "field_converter"]
