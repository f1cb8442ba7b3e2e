"""The settings of Kafka's transforms of headers: ``DropHeaders``, ``InsertHeader`` and ``HeaderFrom``."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.transforms.kafka.sides import FILLS, Sided, choice_of, list_of, sided_classes, text_of, whole_class
from floe.config.transforms.options import By, Side, TopicKept, of_job

MOVE, COPY = "move", "copy"
_HEADERS, _HEADER, _LITERAL = "headers", "header", "value.literal"
_FIELDS, _OPERATION = "fields", "operation"


@dataclass(frozen=True)
class DropHeaders(TopicKept):
    """``headers``: the names of those that are left out."""

    engine: ClassVar = of_job("kafka.headers:HeaderDrop", reads="nothing")

    headers: tuple[str, ...] = ()

    def changes_routing(self, by: By, name: str) -> bool:
        return by == "header" and (not name or name in self.headers)


@dataclass(frozen=True)
class InsertHeader(TopicKept):
    """``header``: the name of a new one. ``literal``: its value, as Connect reads such texts."""

    engine: ClassVar = of_job("kafka.headers:HeaderInsert", reads="nothing")

    header: str = ""
    literal: str = ""

    def changes_routing(self, by: By, name: str) -> bool:
        return by == "header" and name in ("", self.header)


@dataclass(frozen=True)
class HeaderFrom(Sided):
    """``pairs``: the names of fields, each with that of its header. ``moves``: the fields are left out."""

    engine: ClassVar = of_job("kafka.headers:HeaderCopy", reads="columns")

    pairs: tuple[tuple[str, str], ...] = ()
    moves: bool = False

    def writes(self, name: str) -> bool:
        return self.moves and any(name == field for field, _ in self.pairs)

    def changes_routing(self, by: By, name: str) -> bool:
        if by == "header":
            return not name or any(name == header for _, header in self.pairs)
        return super().changes_routing(by, name)


def _read_drop(options: OptionReader) -> DropHeaders | None:
    return DropHeaders(list_of(options, _HEADERS, "the names of the headers"))


def _read_insert(options: OptionReader) -> InsertHeader | None:
    header, literal = text_of(options, _HEADER), text_of(options, _LITERAL)
    for key, text, what in ((_HEADER, header, "name"), (_LITERAL, literal, "value")):
        if text is None:
            options.problems.append(f"{options.prefix}{key} is missing: set the {what} of the header")
    return InsertHeader(header or "", literal or "")


def _read_from(options: OptionReader, side: Side) -> HeaderFrom | None:
    fields = list_of(options, _FIELDS, "the names of the fields")
    headers = list_of(options, _HEADERS, "the names of the headers")
    if len(fields) != len(headers) and not options.problems:
        options.refuse_value(
            _HEADERS, f"has {len(headers)} names, and {_FIELDS} has {len(fields)}: write a header for each"
        )
    operation = choice_of(options, _OPERATION, (MOVE, COPY))
    pairs = tuple(zip(fields, headers, strict=False))
    return HeaderFrom(side, options.boolean(FILLS, False), pairs, operation == MOVE)


CLASSES: Final = (
    whole_class("DropHeaders", (_HEADERS,), _read_drop),
    whole_class("InsertHeader", (_HEADER, _LITERAL), _read_insert),
    *sided_classes("HeaderFrom", (_FIELDS, _HEADERS, _OPERATION, FILLS), _read_from),
)
