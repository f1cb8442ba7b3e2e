"""The settings of the sink's ``JsonToMapTransform``: texts of JSON become structs of flat fields, or one map."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.options import By, TopicKept, TransformClass, of_job

_ROOT: Final = "json.root"


@dataclass(frozen=True)
class JsonToMap(TopicKept):
    """``is_whole``: the whole object becomes one map; else each of its fields has a column."""

    engine: ClassVar = of_job("iceberg.json_to_map:JsonMaps")

    is_whole: bool = False

    @property
    def makes_fields(self) -> bool:
        return True

    def changes_routing(self, by: By, name: str) -> bool:
        return by == "field"


def read_json_to_map(problems: list[str], prefix: str, keys: Properties) -> JsonToMap | None:
    """Read the settings; problems are noted in ``problems``."""
    options = OptionReader(keys, prefix)
    found = JsonToMap(options.boolean(_ROOT, False))
    problems += options.problems
    return None if options.problems else found


CLASS: Final = TransformClass("org.apache.iceberg.connect.transforms.JsonToMapTransform", (_ROOT,), read_json_to_map)
