import pytest

SCHEMAS = "value.converter.schemas.enable"
JSON = "org.apache.kafka.connect.json.JsonConverter"


def test_a_missing_value_converter_is_refused_with_what_to_set(problems):
    (problem,) = problems(without=("value.converter",))
    assert problem.startswith("value.converter is not given") and f"{SCHEMAS}=false" in problem


def test_an_unheard_of_value_converter_is_refused_by_name(problems):
    assert "is no converter that floe knows" in problems({"value.converter": "my.Own"})[0]


@pytest.mark.parametrize("name", [JSON, "JsonConverter", "Json"])
def test_the_json_converter_has_aliases(connector, name):
    assert connector({"value.converter": name}).warnings == ()


@pytest.mark.parametrize(
    "over",
    [
        {"key.converter": "org.apache.kafka.connect.storage.StringConverter"},
        {"key.converter": JSON, "key.converter.schemas.enable": "true"},
        {"key.converter": "io.confluent.connect.avro.AvroConverter", "key.converter.basic.auth.user.info": "u:p"},
        {"key.converter": "my.Own"},
        {"header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter"},
    ],
)
def test_converters_of_keys_and_headers_have_no_effect(connector, over):
    warnings = connector(over).warnings
    assert [warning.partition(" has no effect: ")[0] for warning in warnings] == list(over)
