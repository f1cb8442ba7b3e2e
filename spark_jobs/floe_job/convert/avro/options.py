"""The options of the Avro converters that change what a schema means."""

from dataclasses import dataclass

from floe_job.convert.avro.schema.types import AvroType


@dataclass(frozen=True)
class AvroOptions:
    """Options of Confluent's and Apicurio's AvroConverter.

    ``enhanced_support`` (``enhanced.avro.schema.support``): the branches of a union have the full names of their types.
    ``connect_metadata`` (``connect.meta.data``): ``connect.parameters`` of the schema are read.
    ``flatten_singletons`` (``flatten.singleton.unions``): a union of one branch is that branch. Apicurio has no such
    option, and does not.
    ``unwrap_union``: a value that is a union of many is the branch that it has, as Apicurio's converter reads it; else a
    struct with a field for each branch, as Confluent's does.
    """

    enhanced_support: bool = False
    connect_metadata: bool = True
    flatten_singletons: bool = True
    unwrap_union: bool = False

    def branch_name(self, branch: AvroType) -> str:
        """Return the name of the field that a branch of a union has."""
        if not branch.name:
            return branch.kind
        return branch.name if self.enhanced_support else branch.simple_name
