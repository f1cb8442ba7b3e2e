"""Values without a schema into the types of an Iceberg table."""

from floe_job.types.coercion import Converter, Lookup, PromotionRequests, StructLookup, converter, field_converter

__all__ = ["Converter", "Lookup", "PromotionRequests", "StructLookup", "converter", "field_converter"]
