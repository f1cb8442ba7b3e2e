"""Dates as text, as ``java.text.SimpleDateFormat`` has them; ``tests/integration/java/test_dates.py`` asks Java itself."""

from __future__ import annotations

import re

import pytest

from floe_job.types.java_dates import SimpleDate

NOW = 1_700_000_000_123  # 2023-11-14T22:13:20.123Z
DAY = 86_400_000


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd", "2023-11-14"),
        ("yyyyMMddHHmmssSSS", "20231114221320123"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "2023-11-14T22:13:20.123Z"),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2023-11-14T22:13:20Z"),
        ("EEE, d MMM yyyy HH:mm:ss Z", "Tue, 14 Nov 2023 22:13:20 +0000"),
        ("EEEE MMMM LLL G yy h a k K u", "Tuesday November Nov AD 23 10 PM 22 10 2"),
        ("YYYY-ww W D F z zzzz", "2023-46 3 318 2 UTC Coordinated Universal Time"),
        ("'o''clock' ''", "o'clock '"),
        ("yyyyyy%", "002023%"),
    ],
)
def test_instant_is_written(pattern: str, text: str) -> None:
    assert SimpleDate.of(pattern).format(NOW) == text


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (-12_219_292_800_000, "AD 1582-10-15"),
        (-12_219_292_800_001, "AD 1582-10-04"),
        (-62_135_769_600_001, "BC 0001-12-31"),
        (253_402_300_800_000, "AD 10000-01-01"),
    ],
)
def test_calendar_is_julian_before_1582(millis: int, text: str) -> None:
    assert SimpleDate.of("G yyyy-MM-dd").format(millis) == text


@pytest.mark.parametrize(
    ("pattern", "text", "millis"),
    [
        ("yyyy-MM-dd", "2023-13-32", 1_706_745_600_000),
        ("yyyy-MM-dd", "1970-01-02 and more", DAY),
        ("yyyyMMdd", "19700102", DAY),
        ("yyyyMMdd HH", " 19700102 1", -55_944_428_400_000),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSX", "1970-01-02T00:00:00.005+01", DAY + 5 - 3_600_000),
        ("yyyy-MM-dd z", "1970-01-02 GMT+1:30", DAY - 5_400_000),
        ("yyyy-MM-dd z", "1970-01-02 pst", DAY + 8 * 3_600_000),
        ("EEE, d MMM yyyy", "fri, 2 JANUARY 1970", DAY),
        ("YYYY-ww-u", "1970-01-5", DAY),
        ("hh a", "12 PM", DAY // 2),
        ("yyyy-DDD", "1970-002", DAY),
        ("yyyy", "1E3", -30_609_792_000_000),
        ("yyyy", "", None),
        ("", "a", None),
    ],
)
def test_text_is_read_as_in_java(pattern: str, text: str, millis: int | None) -> None:
    date = SimpleDate.of(pattern)
    if millis is None:
        with pytest.raises(ValueError, match="is no date of the pattern"):
            date.parse(text)
    else:
        assert date.parse(text) == millis


@pytest.mark.parametrize(
    ("text", "year"), [("43", "2043"), ("44", "1944"), ("99", "1999"), ("7", "0007"), ("123", "0123")]
)
def test_two_digits_are_a_year_around_now(text: str, year: str) -> None:
    date = SimpleDate.of("yy", NOW)
    assert SimpleDate.of("yyyy").format(date.parse(text)) == year


def test_year_at_the_edge_is_told_by_its_day() -> None:
    date = SimpleDate.of("yy-MM-dd", NOW)
    written = [SimpleDate.of("yyyy").format(date.parse(text)) for text in ("43-11-14", "43-11-15")]
    assert written == ["2043", "1943"]


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("yyyy-MM-ddTHH", "has 'T': put text in quotes"),
        ("yyyy'T", "a quote that does not end"),
        ("XXXX", "write X, XX or XXX"),
        ("y" * 1001, "write one of at most 1000"),
    ],
)
def test_pattern_that_java_refuses_is_refused(pattern: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        SimpleDate.of(pattern)


@pytest.mark.parametrize("text", ["2020-01-01 IST", "2020-01-01 Middle Earth Time", "1969-12-01 PST"])
def test_zone_name_without_a_sure_offset_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write an offset"):
        SimpleDate.of("yyyy-MM-dd z").parse(text)


def test_hostile_text_is_refused_or_read_at_once() -> None:
    date = SimpleDate.of("yyyy-MM-dd u")
    for text in (
        "9" * 100_000,
        "1E999999999999-1-1 1",
        " " * 100_000,
        "2020-01-01 -2147483648",
        "∞-∞-∞ ∞",
        "\ud800-1-1 1",
    ):
        try:
            assert -(2**63) <= date.parse(text) < 2**63
        except ValueError as error:
            assert len(str(error)) < 300


def test_pattern_is_kept() -> None:
    assert SimpleDate.of("yyyy-MM") is SimpleDate.of("yyyy-MM")


@pytest.mark.parametrize(
    ("pattern", "text", "why"),
    [
        ("yyyy-MM-dd HH:mm:ss.SSSSSS", "2024-01-02 03:04:05.123456", "three digits"),
        ("yyyy-MM-dd HH:mm:ss.SSS", "2024-01-02 03:04:05.123456", "three digits"),
        ("yyyy-MM-dd HH:mm:ss.S", "2024-01-02 03:04:05.5", "three digits"),
        ("yyyy-MM-dd", "2024-13-02", "month is 13"),
        ("yyyy-MM-dd", "2024-00-02", "month is 00"),
        ("yyyy-MM-dd", "2023-02-29", "day 29"),
        ("yyyy-MM-dd", "2024-04-31", "day 31"),
        ("yyyy-MM-dd", "2024-01-32", "day is 32"),
        ("dd/MM/yyyy", "12/31/2024", "month is 31"),
        ("yyyy-MM-dd HH:mm", "2024-01-02 24:00", "hour is 24"),
        ("yyyy-MM-dd hh:mm", "2024-01-02 13:00", "hour is 13"),
        ("yyyy-MM-dd HH:mm:ss", "2024-01-02 03:60:00", "minute is 60"),
        ("yyyy-MM-dd HH:mm:ss", "2024-01-02 03:04:61", "second is 61"),
        ("yyyy-MM-dd HH:mm:ss", "2024-01-02 03:04:05.123456", "'.123456' is not in the pattern"),
        ("yyyy-MM-dd HH:mm:ss", "2024-01-02 03:04:05+02:00", "'+02:00' is not in the pattern"),
        ("yyyy-MM-dd", "2024-01-02T03:04:05Z", "is not in the pattern"),
        ("yyyy-DDD", "2024-367", "day of the year is 367"),
        ("yyyy-MM-dd", "2024--1-02", "month is -1"),
        ("MM/dd/yyyy", "01/02/24", "year is 24, and Java takes it for one of antiquity"),
        ("yy-MM-dd", "4-01-02", "year is 4,"),
        ("y-MM-dd", "224-01-02", "year is 224,"),
        ("yyyy-MM-dd HH:mm a", "2024-01-02 03:30 PM", "hour is 3 of the day, and Java ignores the PM"),
        ("yyyy-MM-dd a kk:mm", "2024-01-02 AM 13:30", "Java ignores the AM"),
        ("yyyyMMdd", "2024012", "'2' has not the 2 digits"),
        ("yyyyMMdd", "202401022", "'022' has not the 2 digits"),
        ("yyyyMMddHHmm", "20240102030", "'0' has not the 2 digits"),
        ("yyyy-DDD", "2023-366", "day 366 is none of the year"),
        ("YYYY-'W'ww-u", "2024-W54-1", "week is 54"),
        ("yyyy-MM-F E", "2024-01-7 Mon", "week of the month is 7"),
        ("yyyy-MM-dd", "1000-01-01", "before 1582-10-15"),
        ("yyyy-MM-dd", "1500-02-29", "before 1582-10-15"),
    ],
)
def test_text_that_java_reads_as_another_time_is_refused(pattern: str, text: str, why: str) -> None:
    one = SimpleDate.of(pattern)
    assert isinstance(one.parse(text), int)
    with pytest.raises(ValueError, match=re.escape(why)):
        one.parse_exactly(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd", "2024-02-29"),
        ("yyyy-MM-dd", "2024-1-2"),
        ("yyyy-MM-dd HH:mm:ss", "2024-01-02 23:59:59Z"),
        ("yyyy-MM-dd HH:mm:ss", "2024-01-02 23:59:59 "),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-01-31T23:30:05.123-05:00"),
        ("EEE, d MMM yyyy HH:mm:ss Z", "Tue, 29 Feb 2024 22:13:20 +0100"),
        ("yyyy-MM-dd hh:mm a", "2024-01-02 12:30 PM"),
        ("dd MMM yy", "1 Jan 24"),
        ("dd/MM/yy", "01/02/1924"),
        ("y-MM-dd", "24-01-02"),
        ("yyyyMMMd", "2024Jan2"),
        ("yyyyMMdd", "2024 1 2"),
        ("yyyy-MM-dd HH:mm a", "2024-01-02 15:30 PM"),
        ("yyyy-DDD", "2024-366"),
        ("yyyy-MM-dd", "1582-10-15"),
        ("YYYY-'W'ww-u", "2024-W53-7"),
        ("yyyyMMddHHmmssSSS", "20240102030405123"),
    ],
)
def test_text_that_means_what_it_says_is_read_exactly(pattern: str, text: str) -> None:
    one = SimpleDate.of(pattern)
    assert one.parse_exactly(text) == one.parse(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-01-31T23:30:05.123-05:00"),
        ("yyyy-MM-dd'T'HH:mm:ssX", "2024-02-29T23:59:59+01"),
        ("dd.MM.yyyy HH:mm", "31.12.2024 23:59"),
        ("yyyyMMddHHmmssSSS", "20240102030405123"),
    ],
)
def test_usual_text_is_read_exactly_without_the_parser(
    pattern: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser looks at each character: it takes ten times as long, and a batch has one such text per record."""
    one = SimpleDate(pattern)
    millis = one.parse(text)
    monkeypatch.delattr("floe_job.types.java_dates.parser.Parser.parse")
    assert one.parse_exactly(text) == millis
