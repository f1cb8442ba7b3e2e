"""Doubles in manifests: PyIceberg's compiled decoder returns them with the precision of a float.

So ``12.34`` of a partition would become ``12.34000015258789`` wherever a manifest is written anew, and files of such
partitions would not be found when they are looked for.
"""

import struct

from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.reader import DoubleReader

_DOUBLE = struct.Struct("<d")


def read_doubles_whole() -> None:
    """Let this process read doubles of Avro files with all of their eight bytes."""
    DoubleReader.read = _WholeDoubleReader.read  # type: ignore[assignment]


class _WholeDoubleReader(DoubleReader):
    def read(self, decoder: BinaryDecoder) -> float:
        value: float = _DOUBLE.unpack(decoder.read(_DOUBLE.size))[0]
        return value
