"""Protobuf schemas of a registry, as descriptors: texts of ``.proto`` files, or descriptors in base64.

Serializers in Python register a ``FileDescriptorProto`` in base64. Both are compiled by ``protoc``, which runs in the
process: some milliseconds for a schema.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from floe.schema_registry.schema import RegisteredSchema
from floe_job.convert.protobuf.descriptors import MAX_DEPTH, connect_options, package, refuse, shown
from floe_job.exceptions import REASON_LENGTH, clip

MAIN: Final = "floe-schema.proto"
_DESCRIPTORS: Final = "floe-descriptors.bin"
_COMPILED: Final = "floe-compiled.bin"
_SAID: Final = "floe-said.txt"
_NO_ERROR: Final = re.compile(r"^WARNING: |^[IWEF]\d{4} |: warning: ")

_stderr_lock = threading.Lock()


def file_of(schema: RegisteredSchema) -> Any:
    """Return the FileDescriptor of a schema, in a pool of its own. Raises UnusableSchema and PackageMissing."""
    descriptors = package("google.protobuf.descriptor_pb2")
    pool = package("google.protobuf.descriptor_pool").DescriptorPool()
    files = {reference.name: one.text for reference, one in schema.referenced} | {MAIN: schema.schema.text}
    found = descriptors.FileDescriptorSet.FromString(_compiled(files, descriptors))
    try:
        for file in found.file:
            pool.Add(file)
        return pool.FindFileByName(MAIN)
    except (TypeError, KeyError) as error:
        refuse(f"the schema is not a valid Protobuf file: {error}")


def _compiled(files: dict[str, str], descriptors: Any) -> bytes:
    """Return the FileDescriptorSet of files that import one another."""
    ready = descriptors.FileDescriptorSet()
    with tempfile.TemporaryDirectory(prefix="floe-protobuf-") as name:
        folder = Path(name)
        for file, text in {**KNOWN_IMPORTS, **files}.items():
            described = _descriptor(text, descriptors)
            if described is None:
                check_text(text)
                _write(folder, file, text)
            else:
                check_descriptor(described)
                described.name = file
                ready.file.append(described)
        (folder / _DESCRIPTORS).write_bytes(ready.SerializeToString())
        _run_protoc(folder, is_described=bool(ready.file))
        return (folder / _COMPILED).read_bytes()


def _descriptor(text: str, descriptors: Any) -> Any:
    """Return the FileDescriptorProto that a schema is in base64; None if it is a text."""
    try:
        return descriptors.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, package("google.protobuf.message").DecodeError):
        return None


def _write(folder: Path, name: str, text: str) -> None:
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or {"..", "\0"} & {*path.parts, *name} or "\\" in name:
        refuse(f"the schema refers to another one as {shown(name)}, which cannot be the name of a file")
    target = folder / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except (OSError, UnicodeEncodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        refuse(f"the schema refers to another one as {shown(name)}, which cannot be the name of a file: {why}")


def _run_protoc(folder: Path, *, is_described: bool) -> None:
    tools, types = package("grpc_tools"), package("google.type.date_pb2")
    arguments = [
        "protoc",
        f"-I{folder}",
        f"-I{Path(tools.__file__ or '').parent / '_proto'}",
        f"-I{Path(types.__file__ or '').parents[2]}",
        *([f"--descriptor_set_in={folder / _DESCRIPTORS}"] if is_described else []),
        "--include_imports",
        f"--descriptor_set_out={folder / _COMPILED}",
        MAIN,
    ]
    status, said = _without_stderr(package("grpc_tools.protoc").main, arguments, folder / _SAID)
    if status:
        lines = [line for line in said.replace(f"{folder}/", "").splitlines() if not _NO_ERROR.search(line)]
        refuse(clip(f"the schema is not a valid Protobuf file: {'; '.join(lines)}", REASON_LENGTH))


def _without_stderr(run: Any, arguments: list[str], file: Path) -> tuple[int, str]:
    """Run something in this process; returns its status, and what it printed to stderr."""
    with _stderr_lock, file.open("wb") as said:
        before = os.dup(2)
        try:
            os.dup2(said.fileno(), 2)
            status = run(arguments)
        finally:
            os.dup2(before, 2)
            os.close(before)
    return int(status), file.read_text(encoding="utf-8", errors="replace")


# How large the files of a schema may be for ``protoc``, which runs in this process.
#
# It ends the process at options of 100 messages in each other. Its time grows by the square of what a message or a
# list has.


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


# Files that Confluent's registry knows without a reference: what they declare, by the names of their imports.


KNOWN_IMPORTS: Final = {
    "confluent/meta.proto": """
        syntax = "proto3";
        package confluent;
        import "google/protobuf/descriptor.proto";
        message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
        extend google.protobuf.FileOptions { Meta file_meta = 1088; }
        extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
        extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
        extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
        extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
    """,
    "confluent/type/decimal.proto": """
        syntax = "proto3";
        package confluent.type;
        message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
    """,
}
"""Those of Google come with the packages that ``airflow-provider-floe[protobuf]`` names."""
