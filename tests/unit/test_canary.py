"""The walker sees a canary in every spelling and in every place."""

import base64
import json
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from urllib.parse import quote_plus

import pytest

from tests.support.canary import HARD, Canaries, files, sqlite


@pytest.mark.parametrize(
    "spell",
    [
        str,
        repr,
        json.dumps,
        quote_plus,
        lambda secret: base64.b64encode(f"user:{secret}".encode()).decode(),
        lambda secret: f"ends in {secret.split(HARD)[1]}",
    ],
)
def test_canary_is_seen_in_each_spelling(spell: object, tmp_path: Path) -> None:
    canaries = Canaries()
    secret = canaries.plant("one", hard=HARD)
    canaries.watch(files(tmp_path))
    assert canaries.seen() == []
    (tmp_path / "log").write_text(f"refused: {spell(secret)}")  # type: ignore[operator]
    assert {(sighting.canary, Path(sighting.where).name) for sighting in canaries.seen()} == {("one", "log")}


def test_canary_is_seen_in_a_database_packed_or_not(tmp_path: Path) -> None:
    canaries = Canaries()
    path = tmp_path / "airflow.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE xcom (value TEXT, data BLOB)")
        packed = zlib.compress(canaries.plant("packed").encode())
        connection.execute("INSERT INTO xcom VALUES (?, ?)", (canaries.plant("plain"), packed))
        connection.commit()
    canaries.watch(sqlite(path))
    assert {(sighting.canary, sighting.where) for sighting in canaries.seen()} == {
        ("plain", "table xcom, column value"),
        ("packed", "table xcom, column data"),
    }
