import pytest

from floe.config.__main__ import main
from floe.config.keys.key import Status
from floe.config.keys.markdown import key_table, library_table
from tests.support.repository import DOCS

MANUAL = DOCS / "reference" / "configuration.md"


@pytest.mark.parametrize("status", Status)
def test_the_manual_has_the_table_of_keys_row_by_row(status):
    text = MANUAL.read_text()
    missing = [row for row in key_table(status).splitlines() if row not in text]
    assert not missing, "print the tables again: python -m floe.config keys"


def test_the_manual_has_the_table_of_library_settings():
    assert library_table() in MANUAL.read_text(), "print the table again: python -m floe.config keys"


def test_the_manual_has_no_rows_of_keys_that_are_gone():
    tables = [library_table(), *(key_table(status) for status in Status)]
    known = {row for table in tables for row in table.splitlines()}
    rows = [row for row in MANUAL.read_text().splitlines() if row.startswith(("| `iceberg.", "| `floe."))]
    elsewhere = "`iceberg.catalog.type` absent"
    assert [row for row in rows if row not in known and elsewhere not in row] == []


def test_the_tables_are_printed_by_the_module(capsys):
    assert main(["keys"]) == 0
    assert "| `topics` | list |" in capsys.readouterr().out
