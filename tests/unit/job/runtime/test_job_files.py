"""The job file is gone before anything is made of what it holds."""

from dataclasses import replace
from pathlib import Path

import pytest

from floe.config import Properties
from floe.config.secrets.mask import hide
from floe.kafka.settings import KafkaSettings
from floe_job.runtime.job_files import JobRequest
from tests.support.tables.lake import Lake
from tests.support.tables.slices import make_plan

SETTINGS = KafkaSettings({"bootstrap.servers": "a:1"}, {"bootstrap.servers": "b:1", "sasl.password": "passw0rd"}, "x")


@pytest.mark.parametrize("text", ["", "{}", "no JSON", '{"plan": 1}'])
def test_job_file_is_removed_even_if_it_is_unusable(tmp_path: Path, text: str) -> None:
    path = tmp_path / "order.json"
    path.write_text(text)
    with pytest.raises((ValueError, KeyError)):
        JobRequest.take(path)
    assert not path.exists()


def test_values_of_references_reach_the_driver_and_are_hidden(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    made = replace(lake.connector(), references=Properties({"iceberg.catalog.warehouse": "${var:w}"}))
    JobRequest(make_plan(), made, SETTINGS, None).save(tmp_path / "order.json")
    found = JobRequest.take(tmp_path / "order.json")
    assert (found.connector, found.settings) == (made, SETTINGS)
    found.learn_secrets()
    assert hide("refused: passw0rd") == "refused: <hidden>"
    assert made.properties["iceberg.catalog.warehouse"] not in hide(str(dict(made.properties)))


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("https://${env:HOST}/schemas", "https://registry-7.example/schemas", "https://<hidden>/schemas"),
        ("https://${env:HOST}/schemas", "https://db/schemas", "<hidden>"),
        ("${env:ALL}", "quite-secret", "<hidden>"),
    ],
)
def test_only_what_a_reference_means_is_hidden(tmp_path: Path, text: str, value: str, shown: str) -> None:
    key = "iceberg.catalog.warehouse"
    made = Lake(tmp_path).connector()
    properties = Properties({**made.properties, key: value})
    made = replace(made, properties=properties, references=Properties({key: text}))
    JobRequest(make_plan(), made, SETTINGS, None).learn_secrets()
    assert hide(f"at {value} now") == f"at {shown} now"


def test_options_of_a_connection_reach_the_driver(tmp_path: Path) -> None:
    key = "iceberg.catalog.warehouse"
    made = replace(Lake(tmp_path).connector(), references=Properties({key: ""}))
    JobRequest(make_plan(), made, SETTINGS, None).save(tmp_path / "order.json")
    found = JobRequest.take(tmp_path / "order.json")
    assert found.connector == made and key not in found.connector.frozen()
