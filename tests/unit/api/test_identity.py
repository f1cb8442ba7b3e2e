"""Which calls are refused before anyone asks who calls."""

from __future__ import annotations

import base64

import pytest
from fastapi import HTTPException, Request

from floe.api import access


def request(method: str = "POST", **headers: str) -> Request:
    given = {"host": "airflow.example:8080", **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in given.items()]
    return Request(
        {"type": "http", "method": method, "scheme": "http", "path": "/", "query_string": b"", "headers": raw}
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site", "x_floe": "1"},
        {"sec_fetch_site": "same-site", "x_floe": "1"},
        {"origin": "https://evil.example", "x_floe": "1"},
        {"origin": "null", "authorization": "Basic QTpC"},
        {"sec_fetch_site": "same-origin", "cookie": "_token=a"},
        {"cookie": "_token=a"},
    ],
)
def test_change_for_a_foreign_page_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(HTTPException) as refused:
        access.refuse_foreign(request(**headers))
    assert (refused.value.status_code, "Nothing was changed" in refused.value.detail) == (403, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "same-origin", "cookie": "_token=a", "x_floe": "1"},
        {"origin": "http://airflow.example:8080", "cookie": "_token=a", "x_floe": "1"},
        {"authorization": "Bearer a.b.c"},
        {"authorization": "Basic QTpC"},
    ],
)
def test_change_by_page_or_tool_is_let_through(headers: dict[str, str]) -> None:
    access.refuse_foreign(request(**headers))


def test_reading_needs_no_header() -> None:
    access.refuse_foreign(request("GET", sec_fetch_site="cross-site", cookie="_token=a"))


@pytest.mark.parametrize("credentials", ["", "a:b", "QQ==", "QTo=", "OkI=", "/w==", "QTpC" * 2000])
def test_what_is_no_name_and_password_has_one_answer(credentials: str) -> None:
    with pytest.raises(HTTPException) as refused:
        access._basic(credentials)
    assert (refused.value.status_code, refused.value.detail) == (401, "Invalid credentials")


def test_password_may_have_colons_and_any_letter() -> None:
    text = base64.b64encode("ana:pä:ss".encode()).decode()
    assert access._basic(text) == ("ana", "pä:ss")
