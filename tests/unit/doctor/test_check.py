"""A check never raises, never hangs, and shows no secret; checks whose need has failed are not run."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Iterator

import pytest

from floe.config.secrets.mask import learn
from floe.doctor import diagnosis
from floe.doctor.check import MAX_CHARACTERS, About, Case, Check, Finding, Level
from floe.doctor.diagnosis import CHECKS, diagnose, run_checks
from floe.kafka.exceptions import KafkaUnreachable
from tests.support.canary import Canaries
from tests.support.kafka.doctor_case import case_of


def good(_: Case, about: About) -> Iterator[Finding]:
    yield about.ok("fine")


def bad(_: Case, about: About) -> Iterator[Finding]:
    yield about.problem("broken", "repair it")


def test_check_that_hangs_ends_at_its_limit_with_what_it_found() -> None:
    ended = threading.Event()

    def hang(_: Case, about: About) -> Iterator[Finding]:
        yield about.ok("one")
        ended.wait(30)

    findings = list(Check("slow", hang, "wait", seconds=2).run(case_of()))
    ended.set()
    assert findings == [
        Finding("slow", Level.OK, "one"),
        Finding("slow", Level.PROBLEM, "no answer within 2 s", "wait"),
    ]


def test_check_that_finds_nothing_says_so() -> None:
    assert [one.level for one in Check("one", lambda *_: (), "").run(case_of())] == [Level.NOT_CHECKED]


def test_probe_of_a_check_that_hangs_may_remain() -> None:
    ended = threading.Event()

    def hang(*_: object) -> Iterator[Finding]:
        ended.wait(30)
        yield from ()

    check = Check("slow", hang, "wait", seconds=0.1, probe="a table p…")
    (one,), (other,) = check.run(case_of()), check.run(case_of(write=False))
    ended.set()
    assert one.text == "no answer within 0.1 s; a table p… may remain" and other.text == "no answer within 0.1 s"


def test_checks_end_after_a_time_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "TOTAL_SECONDS", 0)
    checks = (Check("a", good, ""), Check("b", good, "", needs=("a",)))
    found = list(run_checks(checks, case_of()))
    assert [(one.name, one.level) for one in found] == [("a", Level.NOT_CHECKED), ("b", Level.NOT_CHECKED)]
    assert found[0].text == "the checks before took 0 s"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KafkaUnreachable("Kafka did not answer"), "Kafka did not answer. See FLOE-201."),
        (RuntimeError("odd"), "RuntimeError: odd"),
    ],
)
def test_check_that_raises_is_a_problem_with_its_remedy(error: Exception, text: str) -> None:
    def fail(*_: object) -> Iterator[Finding]:
        raise error

    assert list(Check("one", fail, "do this").run(case_of())) == [Finding("one", Level.PROBLEM, text, "do this")]


def test_findings_hide_secrets_and_are_bounded_lines() -> None:
    canaries = Canaries()
    secret = canaries.plant("password")
    learn({"sasl.password": secret})

    def quote(_: Case, about: About) -> Iterator[Finding]:
        yield about.problem(f"refused: {secret}\n\x1b[31mred", f"not {secret}")
        yield about.ok("x" * 5000)

    one, long = Check("one", quote, "").run(case_of())
    canaries.watch(lambda: [("finding", repr(one.to_json()).encode())])
    assert canaries.seen() == []
    assert "\n" not in one.text and "\x1b" not in one.text
    assert len(long.text) == MAX_CHARACTERS


def test_check_whose_need_failed_is_not_run() -> None:
    checks = (
        Check("a", bad, ""),
        Check("b", good, "", needs=("a",)),
        Check("c", good, "", needs=("b",)),
        Check("d", good, ""),
    )
    found = list(run_checks(checks, case_of()))
    assert [(one.name, one.level.value) for one in found] == [
        ("a", "problem"),
        ("b", "not checked"),
        ("c", "not checked"),
        ("d", "ok"),
    ]
    assert found[1].text == found[2].text == "'a' has a problem"


def test_part_that_is_unknown_is_not_checked_with_the_reason() -> None:
    case = case_of()
    case.unknown = {"catalog": "the Airflow connection 'lake' does not exist"}
    checks = (Check("catalog", good, "", "catalog"), Check("brokers", good, "", "kafka"))
    one, other = run_checks(checks, case)
    assert (one.level, one.text) == (Level.NOT_CHECKED, "the Airflow connection 'lake' does not exist")
    assert other.level is Level.OK


def test_part_that_is_unusable_is_a_problem_once() -> None:
    case = case_of()
    case.unusable = {"kafka": "the Airflow connection 'kafka_default' names no brokers"}
    checks = (Check("brokers", good, "", "kafka"), Check("login", good, "", "kafka", ("brokers",)))
    one, other = run_checks(checks, case)
    assert one.is_problem and one.text.endswith("names no brokers")
    assert (other.level, other.text) == (Level.NOT_CHECKED, "see 'brokers'") and case.failed == {"brokers", "login"}


def test_each_check_that_another_needs_is_before_it() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(names.index(need) < names.index(check.name) for check in CHECKS for need in check.needs)


def test_diagnosis_without_anything_known_checks_this_machine() -> None:
    unknown = dict.fromkeys(("kafka", "registry", "catalog", "spark"), "not looked up")
    found = list(diagnose(case_of().connector, None, write=True, unknown=unknown))  # type: ignore[arg-type]
    assert {one.name for one in found} == {check.name for check in CHECKS}
    assert {one.name for one in found if one.level is Level.OK} >= {"packages", "disks"}


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own handler of Ctrl-C: a Spark session of another test leaves its own behind, which asks the JVM."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupted_check_removes_its_probe_first() -> None:
    begun, removed = threading.Event(), threading.Event()

    def probe(*_: object) -> Iterator[Finding]:
        begun.set()
        _thread.interrupt_main()
        removed.wait(0.3)
        removed.set()
        yield from ()

    with pytest.raises(KeyboardInterrupt):
        list(Check("one", probe, "", probe="a table").run(case_of()))
    assert begun.is_set() and removed.is_set()
