"""Messages about a connector show no secret of it, at a cost that the size of the file bounds."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floe.config.secrets.detection import (
    _SECRET_KEY,
    _SECRET_VALUE,
    _is_secret_key,
    _is_secret_value,
    is_secret,
    secret_texts,
)
from floe.config.secrets.mask import MAX_COMPARED, MAX_HIDDEN, SHORTEST, without_secrets

KEYS = (
    "iceberg.catalog.token",
    "iceberg.catalog.uri",
    "iceberg.kafka.sasl.jaas.config",
    "s3.secret",
    "topics",
    "comment",
)
words = st.text("abcXYZ019 :@=/%+;,'\"\\\n-é", min_size=0, max_size=14)
texts = st.one_of(
    words,
    st.builds("https://{}:{}@host/{}".format, words, words, words),
    st.builds("{}:{}@{}".format, words, words, words),
    st.builds('username="{}" password="{}";'.format, words, words),
    st.builds("Bearer {}".format, words),
    words.map(lambda text: f"Basic {base64.b64encode(text.encode()).decode()}"),
    st.builds("a=1&token={}".format, words),
)


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), texts), st.data())
def test_no_text_of_a_secret_is_left_in_messages(properties, data):
    cut = [text for key, value in properties.items() for text in secret_texts(key, value) if len(text) >= SHORTEST]
    said = data.draw(st.lists(st.sampled_from([*properties.values(), *cut, "x is not y"]), max_size=3))
    spell = data.draw(st.sampled_from([str, repr, json.dumps]))
    message = "\n".join(without_secrets(properties, [f"{spell(one)}: no number" for one in said]))
    assert not [text for text in cut if text in message]


@given(st.text("pasword-_.keyKEYsigheadrtoncilwvmfu\u017f\u212a", max_size=20))
def test_what_no_secret_key_is_without_is_found_first(text):
    assert _is_secret_key(text) == bool(_SECRET_KEY.search(text))


@given(texts | st.text("beyJ-GINasc rtokn=:@\u017f", max_size=20))
def test_what_no_secret_value_is_without_is_found_first(text):
    assert _is_secret_value(text) == bool(_SECRET_VALUE.search(text))


def test_secret_in_a_message_is_hidden_among_thousands():
    properties = {f"iceberg.catalog.token-{i}": f"secret-number-{i}" for i in range(5000)}
    (message,) = without_secrets(properties, ["Invalid value 'hunter22' for x: no number"])
    assert message == "Invalid value 'hunter22' for x: no number"
    (message,) = without_secrets(
        {**properties, "my.password": "hunter22"}, ["Invalid value 'hunter22' for x: no number"]
    )
    assert "hunter22" not in message


@pytest.mark.parametrize("count", [MAX_COMPARED + 1, 5000])
def test_messages_that_may_quote_too_many_secrets_are_not_shown(count):
    properties = {f"iceberg.catalog.token-{i}": f"common{i}" for i in range(count)}
    (message,) = without_secrets(properties, ["'common' is wrong", "'common7' too"])
    assert message.startswith("2 messages about this connector are not shown")
    assert "remove settings that are not for it" in message


def test_messages_that_do_quote_too_many_secrets_are_not_shown():
    properties = {f"iceberg.catalog.token-{i}": f"{i:03}-token" for i in range(MAX_HIDDEN + 2)}
    (message,) = without_secrets(properties, [" ".join(properties.values())])
    assert "-token" not in message and "not shown" in message


def test_settings_that_are_no_secrets_are_not_counted():
    properties = {f"iceberg.table.a.b{i}.commit-branch": "branches" for i in range(5000)}
    assert without_secrets(properties, ["'branches' is wrong"]) == ("'branches' is wrong",)
    assert not is_secret("iceberg.table.a.b1.commit-branch", "branches")


@pytest.mark.parametrize("before", [60, 80, 90])
@pytest.mark.parametrize("key", ["iceberg.control.topic", "connector.class", "value.converter", "iceberg.catalog.type"])
def test_secret_cut_by_a_message_is_hidden(problems, key: str, before: int) -> None:
    canary = "CANARY" * 40
    message = problems({key: f"postgresql://{'u' * before}:{canary}@host/db"})
    assert any("uuu" in problem or "<hidden>" in problem for problem in message)
    assert "CANARY" not in str(message)


@pytest.mark.parametrize("said", ["00111x", "00111X", "1:00111X"])
def test_host_of_a_secret_address_is_hidden_in_any_case(said: str) -> None:
    (shown,) = without_secrets({"iceberg.catalog.token": "1:00111X@0"}, [f"{said}: no number"])
    assert said not in shown
