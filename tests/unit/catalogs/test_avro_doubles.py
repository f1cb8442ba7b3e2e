"""Doubles in manifests are read whole."""

import struct

from pyiceberg.avro.decoder import new_decoder
from pyiceberg.avro.reader import DoubleReader

from floe.catalogs import pyiceberg_patches

WRITTEN = struct.pack("<2d", 12.34, 1e300)


def test_all_digits_of_a_double_are_read_and_no_byte_more() -> None:
    pyiceberg_patches.apply()
    decoder = new_decoder(WRITTEN)
    assert [DoubleReader().read(decoder), DoubleReader().read(decoder)] == [12.34, 1e300]
    assert decoder.tell() == len(WRITTEN)


def test_pyiceberg_decoder_still_cuts_doubles() -> None:
    assert new_decoder(WRITTEN).read_double() == struct.unpack("<f", struct.pack("<f", 12.34))[0]
