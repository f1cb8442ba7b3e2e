"""Decisions, as a run's params name them."""

import pytest

from floe.model.decisions import Decisions, Rollback


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"recover": False, "accept_loss": None, "adopt": [], "forgive": None, "rolled_back": None, "config": {"a": 1}},
    ],
)
def test_nothing_is_decided_that_is_not_named(params: dict[str, object]) -> None:
    assert Decisions.of(params) == Decisions()
    assert not Decisions().resets("pizzas")


def test_each_decision_is_taken_from_the_param_of_its_name() -> None:
    params = {
        "recover": True,
        "accept_loss": True,
        "adopt": ["pizzas"],
        "forgive": ["rpc.a", "rpc.b", "rpc.a"],
        "rolled_back": {"rpc.a": "replay", "rpc.b": "accept"},
    }
    assert Decisions.of(params) == Decisions(
        True,
        frozenset({"*"}),
        frozenset({"pizzas"}),
        frozenset({"rpc.a", "rpc.b"}),
        {"rpc.a": Rollback.REPLAY, "rpc.b": Rollback.ACCEPT},
    )


@pytest.mark.parametrize("given", [True, ["*"], ["pizzas", "drinks-3"]], ids=str)
def test_decisions_survive_the_stored_format(given: object) -> None:
    params = {"accept_loss": given, "reset_topics": ["pizzas"], "drop_backlog": ["rpc.a"], "recover": True}
    decisions = Decisions.of(params)
    assert Decisions.of(decisions.to_json()) == decisions
    assert decisions.to_json()["adopt"] == ["pizzas"]
    assert decisions.to_json()["forgive"] == ["rpc.a"]


def test_a_topic_is_adopted_by_its_name_or_with_all() -> None:
    assert Decisions(reset_topics=frozenset({"pizzas"})).resets("pizzas")
    assert not Decisions(reset_topics=frozenset({"pizzas"})).resets("drinks")
    assert Decisions(reset_topics=frozenset({"*"})).resets("drinks")


def test_another_word_about_a_rollback_is_refused() -> None:
    with pytest.raises(ValueError, match="perhaps"):
        Decisions.of({"rolled_back": {"rpc.a": "perhaps"}})
