"""The options of the JSON Schema converter that change what a schema means."""

from dataclasses import dataclass


@dataclass(frozen=True)
class JsonSchemaOptions:
    """Options of Confluent's JsonSchemaConverter.

    ``optional_for_nonrequired`` (``use.optional.for.nonrequired``): a property that ``required`` does not name is optional.
    Else only what may be null is. ``flatten_singletons`` (``flatten.singleton.unions``): a choice of one is that one.
    """

    optional_for_nonrequired: bool = False
    flatten_singletons: bool = False
