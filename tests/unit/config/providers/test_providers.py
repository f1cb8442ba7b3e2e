"""What providers never give, and how they read files."""

from __future__ import annotations

from pathlib import Path

import pytest

from floe.config.providers.base import ProviderContext, ValueMissing
from floe.config.providers.config_providers import (
    MAX_BYTES,
    ConnectionProvider,
    DirectoryProvider,
    EnvProvider,
    FileProvider,
)


@pytest.mark.parametrize(
    "name",
    [
        "FLOE_SECRET_KEY",
        "AIRFLOW_CONN_FLOE_DEFAULT",
        "AIRFLOW__CORE__FERNET_KEY",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
        "airflow__api__secret_key",
    ],
)
def test_airflows_and_floes_own_variables_are_never_given(name):
    provider = EnvProvider.make({"allowlist.pattern": ".*"}, ProviderContext({name: "x"}))
    with pytest.raises(ValueMissing, match="no connector gets it"):
        provider.get("", name)


def test_the_connection_with_floes_key_is_never_given():
    provider = ConnectionProvider.make({}, ProviderContext(connection=lambda *_: "x"))
    with pytest.raises(ValueMissing, match="no connector gets it"):
        provider.get("floe_default", "password")


def test_a_connection_has_fields_and_extras():
    provider = ConnectionProvider.make({}, ProviderContext(connection=lambda name, key: f"{name}/{key}"))
    assert provider.get("a", "extra.region") == "a/extra.region"
    with pytest.raises(ValueMissing, match="has no field 'get_uri'"):
        provider.get("a", "get_uri")
    assert [provider.is_secret("a", key) for key in ("host", "port", "login", "password", "extra.x")] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_names_of_variables_say_whether_they_are_secret():
    provider = EnvProvider.make({}, ProviderContext())
    assert provider.is_secret("", "CATALOG_TOKEN") and not provider.is_secret("", "CATALOG_HOST")


def test_a_link_out_of_the_allowed_folder_is_refused(tmp_path: Path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "token").write_text("t")
    (inside / "token").symlink_to(outside / "token")
    provider = DirectoryProvider.make({"allowed.paths": str(inside)}, ProviderContext())
    with pytest.raises(ValueMissing, match="not below a path"):
        provider.get(str(inside), "token")
    with pytest.raises(ValueMissing, match="not below a path"):
        provider.get(f"{inside}/../out", "token")


def test_links_inside_the_allowed_folder_are_followed(tmp_path: Path):
    (tmp_path / "..data").mkdir()
    (tmp_path / "..data" / "token").write_text("t")
    (tmp_path / "token").symlink_to("..data/token")
    provider = DirectoryProvider.make({"allowed.paths": str(tmp_path)}, ProviderContext())
    assert provider.get(str(tmp_path), "token") == "t"


@pytest.mark.parametrize(
    ("content", "expected"), [(b"a b\n", "a b"), (b"a\r\n", "a"), (b"\na\n\n", "\na\n"), (b"", "")]
)
def test_of_a_files_content_the_last_line_end_is_left_out(tmp_path: Path, content, expected):
    (tmp_path / "x").write_bytes(content)
    assert DirectoryProvider.make({}, ProviderContext()).get(str(tmp_path), "x") == expected


@pytest.mark.parametrize("key", ["", ".", "..", "a/b", "../x"])
def test_a_key_that_is_no_name_of_a_file_is_refused(tmp_path: Path, key):
    with pytest.raises(ValueMissing, match="no name of a file"):
        DirectoryProvider.make({}, ProviderContext()).get(str(tmp_path), key)


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"x" * (MAX_BYTES + 1), "more than"), (b"secret\xff", "UTF-8"), (b"secret=\\u1", "line 1: ")],
)
def test_an_unusable_file_is_named_without_its_content(tmp_path: Path, content, why):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(ValueMissing, match=why) as caught:
        FileProvider.make({}, ProviderContext()).get(str(path), "k")
    assert str(path) in str(caught.value) and "secret" not in str(caught.value)


def test_a_folder_is_no_file(tmp_path: Path):
    with pytest.raises(ValueMissing, match="Is a directory"):
        FileProvider.make({}, ProviderContext()).get(str(tmp_path), "k")
