"""The speed of each part alone, for a format with schemas, for one partition.

Usage: ``run_format_floor.py BOOTSTRAP TOPIC PARTITION FORMAT REGISTRY FOLDER``, as ``run_floor.py``.
"""

import sys
from collections.abc import Iterator, Sequence

import pyarrow as pa

from bench.formats.base import schemas_of
from bench.formats.encoded_orders import orders_in
from bench.formats.registry import FORMATS
from bench.programs.run_floor import batches, each_step, timed, write
from bench.records import Shape
from floe_job.convert.typed.base import TypedDecoder
from floe_job.source.values import Values


def decode(batches: Sequence[Values], decoder: TypedDecoder) -> Iterator[pa.Table]:
    """Yield the columns of each batch."""
    for values in batches:
        (part,) = decoder.decode(values).parts
        yield pa.table(part.column.flatten(), schema=pa.schema(list(part.column.type)))


def main(step: str) -> None:
    """Do one step, timed."""
    bootstrap, topic, partition, format_, registry, folder = sys.argv[1:]
    shape: Shape = orders_in(format_)
    make = FORMATS[format_].decoder
    assert make is not None
    decoder = make(schemas_of(registry))
    read = [] if step == "consume" else list(batches(bootstrap, topic, int(partition)))
    tables = list(decode(read, decoder)) if step == "encode" else []
    next(decode(read[:1], decoder), None)  # the schema is asked for once
    with timed() as count:
        if step == "consume":
            count.add(len(values) for values in batches(bootstrap, topic, int(partition)))
        elif step == "decode":
            count.add(table.num_rows for table in decode(read, decoder))
        else:
            count.add(write(tables, tables[0].schema, shape, f"{folder}/{partition}.parquet"))


if __name__ == "__main__":
    each_step(main)
