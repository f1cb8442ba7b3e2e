"""Many messages at once into a struct of what is in them, by ``ptars``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.convert.protobuf.packages import optional_package, package
from floe_job.convert.protobuf.wire.schema import ROOT, WIRE_FILE, WireSchema
from floe_job.convert.typed.base import Places

MAX_GROUPS: Final = 10_000
"""Groups in each other that are skipped without harm: ``ptars`` overflows its stack, which ends the process, at ten times."""

_START_GROUP: Final = 3
"""The last three bits of the first byte of a tag that begins a group."""

_PANIC: Final = "PanicException"
"""The error of a Rust library that gives up; it is no ``Exception``."""


class WireReader:
    """Reads messages of one type.

    It says of a batch only that something in it cannot be read: then those that ``is_whole`` doubts are tried one by one,
    and the others together. What it does not tell is found in the columns (``floe_job.convert.protobuf.rules.structs``).
    """

    def __init__(self, wire: WireSchema, ptars: Any, is_whole: Callable[[bytes], bool]) -> None:
        pool = package("google.protobuf.descriptor_pool").DescriptorPool()
        pool.Add(wire.file)
        config = ptars.PtarsConfig(use_large_string=True, use_large_binary=True, use_large_list=True)
        handlers = ptars.HandlerPool([pool.FindFileByName(WIRE_FILE)], config)
        self._handler = handlers.get_for_message(pool.FindMessageTypeByName(ROOT))
        self._is_whole = is_whole

    def read(self, values: pa.BinaryArray) -> Iterator[tuple[Places, pa.StructArray]]:
        """Return messages that can be read, in parts, with their indices; what is in no part cannot be read here."""
        places = np.delete(np.arange(len(values)), self._too_deep(values))
        together = self._batch(values if len(places) == len(values) else values.take(pa.array(places)))
        if together is not None:
            yield places, together
        elif len(places) > 1:
            whole = np.array([self._is_whole(values[place].as_py()) for place in places.tolist()], np.bool_)
            for doubted in np.flatnonzero(~whole).tolist():
                yield from self._read(values, places[doubted : doubted + 1])
            yield from self._read(values, places[whole])

    def _too_deep(self, values: pa.BinaryArray) -> list[int]:
        """Return those that may have too many groups in each other, where the other library refuses them too."""
        large = np.flatnonzero(pc.binary_length(values).to_numpy(zero_copy_only=False) > MAX_GROUPS)
        return [place for place in large.tolist() if self._may_overflow(values[place].as_py())]

    def _may_overflow(self, value: bytes) -> bool:
        groups = np.count_nonzero(np.frombuffer(value, np.uint8) & 7 == _START_GROUP)
        return bool(groups > MAX_GROUPS) and not self._is_whole(value)

    def _read(self, values: pa.BinaryArray, places: Places) -> Iterator[tuple[Places, pa.StructArray]]:
        """Read some messages; their halves one after the other where that fails."""
        batch = self._batch(values.take(pa.array(places))) if len(places) else None
        if batch is not None:
            yield places, batch
        elif len(places) > 1:
            half = len(places) // 2
            yield from self._read(values, places[:half])
            yield from self._read(values, places[half:])

    def _batch(self, values: pa.BinaryArray) -> pa.StructArray | None:
        try:
            return self._handler.array_to_record_batch(values).to_struct_array()
        except ValueError:
            return None
        except BaseException as error:
            if type(error).__name__ != _PANIC:
                raise
            return None


def wire_reader(wire: WireSchema, is_whole: Callable[[bytes], bool]) -> WireReader | None:
    """Return a reader of messages; None where they are read one by one."""
    if wire.has_groups:
        return None
    ptars = optional_package("ptars", "Protobuf records are read one by one, which is slow")
    return None if ptars is None else WireReader(wire, ptars, is_whole)
