"""The hostile suite: its records are of the size that it speaks of, its rounds end, its table says what holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import report
from bench.hostile.formats import formats
from bench.hostile.records import BYTES, HostileShape, pizza, shapes
from bench.hostile.task_rounds import TaskRounds
from bench.measurement import Measurement
from bench.suites import hostile
from bench.targets import check_targets

SHAPES, FORMATS = tuple(shapes()), tuple(formats())


@pytest.mark.parametrize("shape", (*SHAPES, *FORMATS), ids=lambda shape: shape.name)
def test_shape_has_the_bytes_it_says(shape: HostileShape) -> None:
    sizes = [len(shape.make(number)) for number in range(1000, 1050)]
    assert sum(sizes) / len(sizes) == pytest.approx(shape.size, rel=0.25)
    assert shape.make(7) == shape.make(7)


def test_orders_have_300_bytes() -> None:
    assert {len(pizza(number)) for number in range(500)} == {BYTES}


@pytest.mark.parametrize("shape", [hostile.ORDERS, *SHAPES[:2], *FORMATS], ids=lambda shape: shape.name)
def test_rounds_account_for_every_record(shape: HostileShape, tmp_path: Path) -> None:
    done = TaskRounds.open(tmp_path / "rounds").run(shape, shape.values(200))
    assert done.rows + done.dead == 200
    assert done.cpu_seconds > 0


def test_dearest_shape_is_judged_and_all_are_told() -> None:
    found = [
        Measurement(f"{hostile.NAME}{name}", "floe", 0, 9, 1.0, 0.0, more=_more(ratio))
        for name, ratio in (("cheap", 3.0), ("dear", 12.0))
    ]
    (checks,) = check_targets(found)
    assert (checks.text, checks.holds) == ("12.0 × (dear); 1 of 2 kinds hold", False)
    table = report._hostile(found)
    assert "| cheap | 1 | 2 | 50 | 3.0 × (2.0–4.0) | yes |" in table
    assert "| dear | 1 | 2 | 50 | 12.0 × (11.0–13.0) | **no** |" in table


def _more(ratio: float) -> dict[str, object]:
    return {"ratio": ratio, "ratios": [ratio - 1, ratio, ratio + 1], "ns_per_byte": 50.0, "rows": 1, "dead": 2}
