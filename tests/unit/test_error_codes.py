"""Every error that people see has a code, and docs/troubleshooting.md an entry for each code, and no other."""

import ast
import logging
import pickle
import re
from pathlib import Path

import pytest

from floe.config.exceptions import ConfigError
from floe.exceptions import with_code
from floe.kafka.exceptions import KafkaUnreachable
from floe.operators.failures import say_failure

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
SOURCES = [*(ROOT / "plugins").rglob("*.py"), *(ROOT / "spark_jobs").rglob("*.py"), *(ROOT / "dags").rglob("*.py")]
OF_ONE_RECORD = "InvalidRecord"
"""Its subclasses are reasons of dead letters, not errors of a run."""


def _classes() -> dict[str, tuple[list[str], bool]]:
    """Every class of the sources by name: its bases, and whether it names a code."""
    found = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                names = [
                    target.id
                    for item in node.body
                    if isinstance(item, ast.Assign)
                    for target in item.targets
                    if isinstance(target, ast.Name)
                ]
                found[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)], "code" in names
    return found


CLASSES = _classes()


def _ancestors(name: str) -> set[str]:
    bases = CLASSES.get(name, ([], False))[0]
    return {name}.union(*(_ancestors(base) for base in bases))


ERRORS = sorted(
    name for name in CLASSES if "FloeError" in _ancestors(name) - {name} and OF_ONE_RECORD not in _ancestors(name)
)


def _codes_in_source() -> set[str]:
    return {code for path in SOURCES for code in re.findall(r'"(FLOE-\d{3})"', path.read_text(encoding="utf-8"))}


def test_every_code_has_one_entry_and_every_entry_a_code() -> None:
    anchors = re.findall(r'<a id="(FLOE-\d{3})"></a>\*\*(FLOE-\d{3}): ', PAGE)
    assert [one for one, other in anchors if one != other] == []
    names = [one for one, _ in anchors]
    assert names == sorted(set(names))
    assert set(names) == _codes_in_source()


@pytest.mark.parametrize("name", ERRORS)
def test_error_class_has_code_or_is_base(name: str) -> None:
    is_base = any(name in bases for bases, _ in CLASSES.values())
    assert is_base or any(CLASSES[one][1] for one in _ancestors(name) if one in CLASSES)


def test_text_has_no_code_until_it_is_for_people() -> None:
    error = KafkaUnreachable("Kafka did not answer")
    assert str(error) == "Kafka did not answer"
    assert str(error.for_people()) == "Kafka did not answer. See FLOE-201."
    assert str(error) == str(error.for_people())


def test_code_of_one_error_goes_before_that_of_class() -> None:
    error = pickle.loads(pickle.dumps(KafkaUnreachable("gone", code="FLOE-207")))  # noqa: S301 - its own
    assert error.code == "FLOE-207" and KafkaUnreachable.code == "FLOE-201"


def test_quoted_code_ends_text_in_place_of_another() -> None:
    quoting = "No room. See FLOE-511. 1 slice(s) were not written."
    assert with_code(quoting, "FLOE-601") == "No room. 1 slice(s) were not written. See FLOE-511."


def test_list_of_problems_ends_with_code_on_own_line() -> None:
    assert str(ConfigError("a", "b").for_people()).splitlines() == ["2 errors", "  - a", "  - b", "See FLOE-103."]


def test_log_of_failed_task_ends_with_code(caplog: pytest.LogCaptureFixture) -> None:
    error = KafkaUnreachable("Kafka did not answer: refused. Check the broker.").for_people()
    with caplog.at_level(logging.ERROR):
        say_failure({"exception": error})  # type: ignore[typeddict-item]
    assert caplog.messages == [
        "Kafka did not answer",
        "refused",
        "Check the broker.",
        "See FLOE-201 in docs/troubleshooting.md.",
    ]
