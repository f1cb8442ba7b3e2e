"""The settings of Kafka's ``Cast``: fields, or whole values, of another type."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.transforms.kafka.sides import FILLS, Sided, list_of, sided_classes
from floe.config.transforms.options import Side, of_job

CAST_TYPES: Final = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
_SPEC: Final = "spec"
_SHOWN_CHARACTERS: Final = 100


@dataclass(frozen=True)
class Cast(Sided):
    """``types``: of fields, by their names. ``whole``: of the value itself; "" for none."""

    engine: ClassVar = of_job("kafka.cast:CastChange", changes="side", reads="columns")

    types: tuple[tuple[str, str], ...] = ()
    whole: str = ""

    def writes(self, name: str) -> bool:
        return bool(self.whole) or any(name == field for field, _ in self.types)


def _read(options: OptionReader, side: Side) -> Cast | None:
    entries = list_of(options, _SPEC, "field:type, or one type for whole values")
    types: dict[str, str] = {}
    whole = ""
    for entry in entries:
        name, colon, kind = entry.rpartition(":")
        kind = kind.strip().lower()
        if kind not in CAST_TYPES or ":" in name:
            options.refuse_value(
                _SPEC,
                f"{entry[:_SHOWN_CHARACTERS]!r} is none: write field:type, with the type one of {', '.join(CAST_TYPES)}",
            )
        elif colon:
            types[name.strip()] = kind
        else:
            whole = kind
    if whole and len(entries) > 1:
        options.refuse_value(_SPEC, "has a type for whole values and more: write it alone")
    return Cast(side, options.boolean(FILLS, False), tuple(types.items()), whole)


CLASSES: Final = sided_classes("Cast", (_SPEC, FILLS), _read)
