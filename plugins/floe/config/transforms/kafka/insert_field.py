"""The settings of Kafka's ``InsertField``: fields with what Kafka knows of a record, or with a text."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.transforms.kafka.sides import FILLS, Sided, sided_classes, text_of
from floe.config.transforms.options import Side, of_job

TOPIC, PARTITION, OFFSET, TIMESTAMP, STATIC = "topic", "partition", "offset", "timestamp", "static"
PARTS: Final = (TOPIC, PARTITION, OFFSET, TIMESTAMP, STATIC)
"""What may be inserted, in the order in which fields are added."""

_STATIC_VALUE: Final = "static.value"


@dataclass(frozen=True)
class InsertField(Sided):
    """``fields``: what is inserted (see ``PARTS``), the field's name, and whether its schema is optional."""

    engine: ClassVar = of_job("kafka.insert_field:InsertFieldChange", changes="side", reads="columns")

    fields: tuple[tuple[str, str, bool], ...] = ()
    static_value: str | None = None

    def writes(self, name: str) -> bool:
        return any(name == field for _, field, _ in self.fields)


def _read(options: OptionReader, side: Side) -> InsertField | None:
    found = [
        (part, *_field(options, f"{part}.field")) for part in PARTS if text_of(options, f"{part}.field") is not None
    ]
    static_value = text_of(options, _STATIC_VALUE)
    if not found:
        options.problems.append(
            f"No field insertion configured: set {', '.join(f'{options.prefix}{part}.field' for part in PARTS)}, "
            "or one of them"
        )
    if any(part == STATIC for part, _, _ in found) and static_value is None:
        options.problems.append(f"{options.prefix}{_STATIC_VALUE} is missing: set what static.field gets")
    return InsertField(side, options.boolean(FILLS, False), tuple(found), static_value)


def _field(options: OptionReader, key: str) -> tuple[str, bool]:
    """Return the name, without the mark at its end, and whether the field is optional."""
    text = text_of(options, key) or ""
    name = text[:-1] if text.endswith(("!", "?")) else text
    if not name.strip():
        options.refuse_value(key, "has no name: write one, with ! or ? behind it or nothing")
    return name, not text.endswith("!")


CLASSES: Final = sided_classes("InsertField", (*(f"{part}.field" for part in PARTS), _STATIC_VALUE, FILLS), _read)
