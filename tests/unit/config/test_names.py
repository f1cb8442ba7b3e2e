import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.config.names import connector_name_problem, legal_name, table_problem, topic_problem


@pytest.mark.parametrize("name", ["pizzas-on-ice", "a.b_c-1", "A", "x" * 243, "größe"])
def test_a_legal_dag_id_is_a_legal_name(name):
    assert connector_name_problem(name) is None


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "a\n", "a:b", "x" * 244, "a.replay", "ä\u0308\u200b"])
def test_an_illegal_dag_id_is_refused(name):
    assert connector_name_problem(name)


@pytest.mark.parametrize("name", ["\uff50izzas", "pizza\ufb01", "orders\u00b2", "\u212b"])
def test_letters_that_look_like_others_name_no_connector(name):
    assert "letters that look like others" in connector_name_problem(name)


@given(st.text())
def test_any_text_makes_a_legal_name(text):
    assert connector_name_problem(legal_name(text)) is None


@pytest.mark.parametrize("table", ["rpc.pizzas", "a.b.c", "Rpc.Pizzas", "a-b.c d", "ä.ö"])
def test_a_table_has_a_namespace_and_a_name(table):
    assert table_problem(table) is None


@pytest.mark.parametrize(
    "table",
    [
        "pizzas",
        "",
        ".",
        "a.",
        ".a",
        "a..b",
        "a./etc",
        "a/../b.c",
        "a.b\\c",
        "a.b\x00",
        "a.b\n",
        "a. b",
        "a.%2e%2e",
        "a.b\u202e",
        f"a.{'x' * 256}",
    ],
)
def test_a_table_name_that_would_make_an_odd_path_is_refused(table):
    assert table_problem(table)


@given(st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True).filter(lambda topic: topic not in {".", ".."}))
def test_topic_names_by_kafkas_rule_pass(topic):
    assert topic_problem(topic) is None
