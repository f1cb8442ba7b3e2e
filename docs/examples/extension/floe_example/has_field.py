"""A condition's declaration: records that are objects with a field."""

from floe.config.engine import Engine
from floe.config.properties import Properties
from floe.config.transforms.options import PredicateClass


def _check(problems: list[str], prefix: str, keys: Properties) -> None:
    if not keys.get("name", "").strip():
        problems.append(f"{prefix}name is missing: set the name of the field")


HAS_FIELD = PredicateClass("example.HasField", ("name",), _check, Engine("floe_example.has_field_code:HasField"))
