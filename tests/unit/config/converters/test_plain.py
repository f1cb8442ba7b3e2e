import pytest

from floe.config.converters.base import ConverterSpec
from floe.config.converters.charsets import ENCODING, codec_of
from floe.config.converters.plain import CLASSES
from floe.config.overrides.frozen_config import restore_config
from floe.config.properties import Properties

STRING = "org.apache.kafka.connect.storage.StringConverter"
VALUES = [name for name, converter in CLASSES.items() if "value" in converter.roles]


def values(converter, name, **options):
    keys = {"value.converter": name, **{f"value.converter.{key}": value for key, value in options.items()}}
    return converter(keys, without=("value.converter.schemas.enable",))


@pytest.mark.parametrize("name", VALUES)
def test_plain_values_are_accepted_with_a_warning(connector, name):
    (warning,) = values(connector, name).warnings
    assert warning.startswith("value.converter gives values without fields, of which no row can be made")


def test_headers_only_converter_is_refused_for_values(problems):
    name = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
    assert f"value.converter {name!r} reads no values" in values(problems, name)[0]


@pytest.mark.parametrize(
    ("options", "charset"),
    [
        ({}, None),
        ({"converter.encoding": " ISO-8859-1 "}, "ISO-8859-1"),
        ({"converter.encoding": "UTF-8", "value.deserializer.encoding": "UTF-16"}, "UTF-16"),
    ],
)
def test_encoding_of_the_roles_deserializer_takes_precedence(connector, options, charset):
    found = values(connector, STRING, **options).value_converter
    assert found == ConverterSpec("string", Properties({} if charset is None else {ENCODING: charset}))


@pytest.mark.parametrize("charset", ["rot13", "UTF-9", "hex", "a b", "utf-7", "../x", "é", "x" * 61])
def test_unknown_encoding_is_refused_with_the_key(problems, charset):
    (problem,) = values(problems, STRING, **{"converter.encoding": charset})
    assert problem.startswith(f"value.converter.converter.encoding {charset!r}: no character set of this name is known")


@pytest.mark.parametrize(
    "option", ["key.deserializer.encoding", "deserializer.encoding", "serializer.encoding", "converter.type", "x.y"]
)
def test_option_without_effect_is_named(connector, option):
    assert any(
        warning.startswith(f"value.converter.{option} has no effect: ")
        for warning in values(connector, STRING, **{option: "UTF-16"}).warnings
    )


@pytest.mark.parametrize(
    ("java", "python"),
    [
        ("UTF-8", "utf-8"),
        ("UTF8", "utf-8"),
        ("ISO8859_1", "iso8859-1"),
        ("ISO-8859-15", "iso8859-15"),
        ("Cp1252", "cp1252"),
        ("windows-31j", "cp932"),
        ("x-MacRoman", "mac-roman"),
        ("IBM00858", "cp858"),
        ("IBM037", "cp037"),
        ("KOI8-R", "koi8-r"),
        ("GB18030", "gb18030"),
        ("EUC-JP", "euc_jp"),
    ],
)
def test_javas_names_of_character_sets_are_known(java, python):
    assert codec_of(java) == python


def test_keys_and_headers_have_converters_of_their_own(connector):
    found = connector({"key.converter": STRING, "key.converter.converter.encoding": "UTF-16"})
    assert found.key_converter == ConverterSpec("string", Properties({ENCODING: "UTF-16"}), "key")
    assert found.header_converter == ConverterSpec("simple-header", role="header")
    assert connector().key_converter is None
    assert connector({"header.converter": STRING}).header_converter == ConverterSpec("string", role="header")


@pytest.mark.parametrize(
    "over",
    [
        {"key.converter": "my.Own", "header.converter": "my.Own"},
        {"key.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter", "header.converter": "x"},
        {
            "key.converter": STRING,
            "key.converter.converter.encoding": "rot13",
            "header.converter": STRING,
            "header.converter.converter.encoding": "rot13",
        },
    ],
)
def test_key_or_header_converter_that_is_wrong_is_no_problem(connector, over):
    found = connector(over)
    assert (found.key_converter, found.header_converter) == (None, None)
    assert sorted(warning.partition(" has no effect: ")[0] for warning in found.warnings) == sorted(over)


def test_converters_of_keys_change_no_route_and_no_plan(connector):
    plain, other = connector(), connector({"key.converter": STRING, "header.converter": STRING})
    assert plain.route_rule("db.t", "t") == other.route_rule("db.t", "t")
    assert {**plain.frozen(), "key.converter": STRING, "header.converter": STRING} == other.frozen()
    assert restore_config(plain.frozen(), other).key_converter is None
