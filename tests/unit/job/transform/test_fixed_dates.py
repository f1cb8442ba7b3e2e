"""Texts of times as a column, and one by one: the same milliseconds."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from floe_job.transform.field_steps.conversions import FixedDates
from floe_job.types.java_dates.simple_date import SimpleDate

PATTERNS = (
    "yyyy-MM-dd",
    "yyyyMMdd",
    "dd.MM.yyyy",
    "yyyy-MM-dd HH:mm:ss",
    "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
    "yyyy-MM-dd'T'HH:mm:ss.SSSX",
    "yyyy/MM/dd HH:mm",
    "yyyy''MM''dd",
)
OTHERS = (
    "yy-MM-dd",
    "yyyy-M-d",
    "MMM dd yyyy",
    "yyyy-MM-dd hh:mm a",
    "HH:mm:ss",
    "yyyy-DDD",
    "yyyy-MM-dd z",
    "yyyy yyyy MM dd",
)


def texts(pattern: str, random: Random) -> list[str | None]:
    form = SimpleDate.of(pattern)
    found: list[str | None] = [None, "", "no", "9" * len(form.format(0))]
    for _ in range(300):
        text = form.format(random.randrange(-12_000_000_000_000, 250_000_000_000_000))
        if random.random() < 0.3:
            place = random.randrange(len(text))
            text = text[:place] + random.choice("0123456789-: Zx²é") + text[place + 1 :]
        found.append(text)
    return found


@pytest.mark.parametrize("pattern", PATTERNS)
def test_texts_of_fixed_places_are_read_as_one_by_one(pattern: str) -> None:
    dates, one_by_one = FixedDates.of(pattern), SimpleDate.of(pattern)
    assert dates is not None
    read = 0
    for seed in range(10):
        given = texts(pattern, Random(seed))
        column = pa.array(["cut", *given], pa.large_string())[1:]
        millis, bad = dates.read(column)
        assert bad is not None
        for text, found, is_bad in zip(given, millis.to_pylist(), bad.tolist(), strict=True):
            if text is None:
                assert (found, is_bad) == (None, False)
            elif not is_bad:
                assert found == one_by_one.parse(text), text
                read += 1
    assert read > 1000


@pytest.mark.parametrize("pattern", OTHERS)
def test_patterns_of_other_kinds_have_no_fixed_places(pattern: str) -> None:
    assert FixedDates.of(pattern) is None


def test_column_without_a_readable_text_is_left_alone() -> None:
    dates = FixedDates.of("yyyy-MM-dd")
    assert dates is not None
    for given in ([], [None, None], ["x", None, "2024-02-30"]):
        millis, bad = dates.read(pa.array(given, pa.large_string()))
        assert millis.null_count == len(given)
        wrong = np.zeros(len(given), np.bool_) if bad is None else bad
        assert wrong.tolist() == [text is not None for text in given]
