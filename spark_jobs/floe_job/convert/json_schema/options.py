"""The options of the JSON Schema converter that change what a schema means."""

from dataclasses import dataclass


@dataclass(frozen=True)
class JsonSchemaOptions:
    """Options of Confluent's JsonSchemaConverter.

    ``optional_for_nonrequired`` (``use.optional.for.nonrequired``): a property that ``required`` does not name is optional.
    Else only what may be null is.
    """

    optional_for_nonrequired: bool = False
