"""How large the files of a schema may be for ``protoc``, which runs in this process.

It ends the process at options of 100 messages in each other. Its time grows by the square of what a message or a list has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from floe_job.convert.protobuf.descriptors import connect_options
from floe_job.convert.protobuf.limits import MAX_DEPTH, refuse

MAX_PARTS: Final = 20_000
"""Statements, entries of lists and strings in a file."""

_TOKENS: Final = re.compile(
    r"""//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|"(?:[^"\\\n]|\\[^\n])*"?|'(?:[^'\\\n]|\\[^\n])*'?|[][{}<>;,]"""
)
"""Comments, strings, and what groups and ends statements."""

_STEPS: Final = {"{": 1, "[": 1, "<": 1, "}": -1, "]": -1, ">": -1}
_PARTS: Final = frozenset(";,}\"'")
_OPTION: Final = "uninterpreted_option"
_FIELD: Final = "FieldDescriptorProto"


def check_text(text: str) -> None:
    """Check the text of a file. Raises UnusableSchema."""
    depth = parts = 0
    for found in _TOKENS.finditer(text):
        token = found[0]
        depth = max(0, depth + _STEPS.get(token, 0))
        parts += token[0] in _PARTS
        if depth > MAX_DEPTH:
            refuse(f"the schema has more than {MAX_DEPTH} brackets in each other")
        if parts > MAX_PARTS:
            _refuse_parts()


def check_descriptor(file: Any) -> None:
    """Check a FileDescriptorProto, and remove all options from it that only its own files know. Raises UnusableSchema."""
    fields = []
    for parts, one in enumerate(_parts(file)):
        if parts > MAX_PARTS:
            _refuse_parts()
        if one.DESCRIPTOR.name == _FIELD and one.HasField("options"):
            fields.append((one.options, connect_options(one.options.SerializeToString())))
    file.DiscardUnknownFields()
    for options, kept in fields:
        options.MergeFromString(kept)


def _parts(message: Any) -> Iterator[Any]:
    """Yield a message and all messages in it. Raises UnusableSchema for options that are still text."""
    yield message
    for field, value in message.ListFields():
        if field.name == _OPTION:
            refuse("the schema is a descriptor whose options were not compiled")
        if field.message_type is not None:
            for one in value if field.is_repeated else [value]:
                yield from _parts(one)
        elif field.is_repeated:
            yield from (message for _ in value)


def _refuse_parts() -> None:
    refuse(f"the schema has more than {MAX_PARTS} statements")
