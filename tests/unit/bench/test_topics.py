"""The size of producers' batches is read from a broker's logs."""

from __future__ import annotations

import struct
from pathlib import Path

from bench.topics import batch_bytes


def test_the_median_batch_of_a_topic_is_read_from_its_logs(tmp_path: Path) -> None:
    for partition, sizes in enumerate([(100, 300), (200,)]):
        folder = tmp_path / f"orders-{partition}"
        folder.mkdir()
        batches = b"".join(struct.pack(">qi", 7, size - 12) + bytes(size - 12) for size in sizes)
        (folder / "00000000000000000000.log").write_bytes(batches + bytes(4096))  # the rest of a segment
    other = tmp_path / "orders-large-0"
    other.mkdir()
    (other / "00000000000000000000.log").write_bytes(struct.pack(">qi", 7, 9_988) + bytes(9_988))
    assert batch_bytes(tmp_path, "orders") == 200
    assert batch_bytes(tmp_path, "orders-large") == 10_000
    assert batch_bytes(tmp_path, "none") == 0
