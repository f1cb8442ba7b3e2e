"""What the configuration of a plan changes beyond its class."""

import pytest

from floe.config import OverrideRefused, foreign_changes, override
from tests.support.overrides import CANARY, LIVE, REPLAY, TOKEN, TWO


@pytest.mark.parametrize(
    ("over", "allowed"),
    [
        ({}, LIVE),
        ({"tasks.max": "9"}, LIVE),
        ({"topics": "a", "iceberg.tables": "db.one"}, REPLAY),
    ],
)
def test_a_plan_within_its_class_has_no_foreign_changes(connector, over, allowed):
    file = connector({**TWO, **TOKEN})
    assert foreign_changes(override(file, over, allowed).frozen(), file, allowed) == []


def test_plan_naming_topics_of_an_expression_is_its_own(connector):
    from floe.config.sections.topics import with_topics

    file = connector({"topics": "", "topics.regex": "a.*"})
    assert foreign_changes(with_topics(file, ("ab", "ac")).frozen(), file, LIVE) == []
    (problem,) = foreign_changes(with_topics(file, ("ab", "b")).frozen(), file, LIVE)
    assert "'b' is not among the connector's topics" in problem


def test_a_replay_on_another_branch_is_its_own(connector):
    from floe.config.overrides.run_overrides import replace_keys

    file = connector(TWO)
    made = replace_keys(file, {"iceberg.tables.default-commit-branch": "audit"})
    assert foreign_changes(made.frozen(), file, REPLAY) == []
    assert foreign_changes(made.frozen(), file, LIVE) != []


@pytest.mark.parametrize(
    ("over", "allowed"),
    [
        ({"iceberg.connect.group-id": "connect-other"}, REPLAY),
        ({"iceberg.tables.write-props.write.py-location-provider.impl": "builtins.exec"}, REPLAY),
        ({"iceberg.catalog.uri": "http://elsewhere"}, REPLAY),
        ({"topics": "a"}, LIVE),
        ({"topics": "a,c"}, REPLAY),
        ({"iceberg.tables": "db.three"}, REPLAY),
    ],
)
def test_a_plan_beyond_its_class_is_told_key_by_key(connector, over, allowed):
    file = connector({"topics": "a,b", **TOKEN})
    problems = foreign_changes({**file.frozen(), **over}, file, allowed)
    assert any(next(iter(over)) in problem for problem in problems)
    assert CANARY not in str(problems)


def test_a_plan_without_a_key_of_the_file_is_told(connector):
    file = connector({"floe.deadletter.table": "ops.dead"})
    frozen = {key: value for key, value in file.frozen().items() if key != "floe.deadletter.table"}
    (problem,) = foreign_changes(frozen, file, LIVE)
    assert "'floe.deadletter.table' is not given in the plan and 'ops.dead' in the connector file" in problem


def test_a_run_chooses_one_of_the_sparks_that_the_file_lists(connector):
    file = connector({"floe.spark.conn-ids": "small, large"})
    made = override(file, {"floe.spark.conn-id": "large"})
    assert made.connections.spark == "large"
    assert foreign_changes(made.frozen(), file, LIVE) == []
    for other in ({"floe.spark.conn-id": "elsewhere"}, {"floe.spark.conn-ids": "elsewhere"}):
        with pytest.raises(OverrideRefused, match="is of class file"):
            override(file, other)
        assert foreign_changes({**file.frozen(), **other}, file, REPLAY) != []
