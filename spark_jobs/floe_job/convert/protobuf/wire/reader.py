"""Many messages at once into a struct of what is in them, by ``ptars``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from floe_job.convert.protobuf.packages import optional_package, package
from floe_job.convert.protobuf.wire.schema import ROOT, WIRE_FILE, WireSchema
from floe_job.convert.typed.base import Places

_PANIC: Final = "PanicException"
"""The error of a Rust library that gives up; it is no ``Exception``."""


class WireReader:
    """Reads messages of one type.

    It says of a batch only that something in it cannot be read: halves are tried then, down to one message. What it does
    not tell is found in the columns (``floe_job.convert.protobuf.rules.structs``).
    """

    def __init__(self, wire: WireSchema, ptars: Any) -> None:
        pool = package("google.protobuf.descriptor_pool").DescriptorPool()
        pool.Add(wire.file)
        config = ptars.PtarsConfig(use_large_string=True, use_large_binary=True, use_large_list=True)
        handlers = ptars.HandlerPool([pool.FindFileByName(WIRE_FILE)], config)
        self._handler = handlers.get_for_message(pool.FindMessageTypeByName(ROOT))

    def read(self, values: pa.BinaryArray) -> Iterator[tuple[Places, pa.StructArray]]:
        """Return messages that can be read, in parts, with their indices; what is in no part cannot be read here."""
        yield from self._read(values, np.arange(len(values)))

    def _read(self, values: pa.BinaryArray, places: Places) -> Iterator[tuple[Places, pa.StructArray]]:
        try:
            batch = self._handler.array_to_record_batch(values)
        except ValueError:
            step = (len(values) + 1) // 2
        except BaseException as error:
            if type(error).__name__ != _PANIC:
                raise
            # one by one: each attempt prints where the library gave up
            step = 1
        else:
            yield places, batch.to_struct_array()
            return
        if len(values) > 1:
            for first in range(0, len(values), step):
                yield from self._read(values[first : first + step], places[first : first + step])


def wire_reader(wire: WireSchema) -> WireReader | None:
    """Return a reader of messages; None where they are read one by one."""
    if wire.has_groups:
        return None
    ptars = optional_package("ptars", "Protobuf records are read one by one, which is slow")
    return None if ptars is None else WireReader(wire, ptars)
