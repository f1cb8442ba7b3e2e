"""Section 4 of the sink's behaviour: the configuration of KafkaMetadataTransform."""

from collections.abc import Callable

import pytest

from floe.config.keys.reader import Settings
from floe.config.sections.transform_reader import read_transforms
from floe.config.transforms.iceberg import KafkaMetadata
from floe.config.transforms.options import TransformOptions

TYPE = "org.apache.iceberg.connect.transforms.KafkaMetadataTransform"
Read = Callable[..., tuple[TransformOptions, ...]]


@pytest.fixture
def settings() -> Callable[..., Settings]:
    """Make the settings of one transform named meta, with keys of it over them."""

    def make(over: dict[str, str] | None = None, **keys: str) -> Settings:
        own = {f"transforms.meta.{key}": value for key, value in keys.items()}
        return Settings({"transforms": "meta", "transforms.meta.type": TYPE, **own, **(over or {})})

    return make


@pytest.fixture
def read(settings: Callable[..., Settings]) -> Read:
    """Read transforms that are right."""

    def make(over: dict[str, str] | None = None, **keys: str) -> tuple[TransformOptions, ...]:
        given = settings(over, **keys)
        specs = read_transforms(given)
        assert given.problems == []
        return tuple(spec.options for spec in specs)

    return make


@pytest.fixture
def problems(settings: Callable[..., Settings]) -> Callable[..., list[str]]:
    """Read transforms that are wrong, and give their problems."""

    def make(over: dict[str, str] | None = None, **keys: str) -> list[str]:
        given = settings(over, **keys)
        read_transforms(given)
        assert given.problems
        return given.problems

    return make


@pytest.mark.parametrize("names", [{}, {"transforms": ""}, {"transforms": "  "}])
def test_a_connector_without_transforms_has_none(names):
    given = Settings(names)
    assert read_transforms(given) == ()
    assert given.problems == given.warnings == []


@pytest.mark.parametrize(
    "package", ["org.apache.iceberg.connect.transforms.", "io.tabular.iceberg.connect.transforms.", ""]
)
def test_transform_names_of_both_sinks_and_short_one_are_known(read, package):
    assert read(type=f" {package}KafkaMetadataTransform ") == (KafkaMetadata(),)


def test_defaults_are_the_sinks(read):
    (transform,) = read()
    assert (transform.field_name, transform.nested, transform.external) == ("_kafka_metadata", False, None)
    assert not transform.key
    assert not transform.headers


def test_every_key_is_read(read):
    (transform,) = read(
        field_name="k", nested="TRUE", external_field="cluster,eu", include_key="true", include_headers="true"
    )
    assert transform == KafkaMetadata("k", nested=True, external=("cluster", "eu"), key=True, headers=True)


def test_flat_columns_have_the_field_name_before_them():
    transform = KafkaMetadata("k", external=("cluster", "eu"), key=True, headers=True)
    assert transform.columns == (
        "k_topic", "k_partition", "k_offset", "k_timestamp", "k_cluster", "k_key", "k_headers",
    )  # fmt: skip


def test_a_nested_transform_has_one_column_of_parts():
    transform = KafkaMetadata("k", nested=True, external=("cluster", "eu"))
    assert transform.columns == ("k",)
    assert transform.parts == ("topic", "partition", "offset", "timestamp", "cluster")


def test_transforms_keep_their_order(read):
    over = {"transforms": "b, meta", "transforms.b.type": TYPE, "transforms.b.field_name": "b"}
    assert [transform.field_name for transform in read(over)] == ["b", "_kafka_metadata"]


def test_a_name_with_dots_has_its_own_keys(read):
    over = {"transforms": "meta,meta.b", "transforms.meta.b.type": TYPE, "transforms.meta.b.field_name": "b"}
    assert [transform.field_name for transform in read(over)] == ["_kafka_metadata", "b"]


@pytest.mark.parametrize(("text", "parts"), [("a, b ", ("a", " b ")), ("a,b,", ("a", "b")), ("a,b,,", ("a", "b"))])
def test_an_external_field_is_split_as_java_does(read, text, parts):
    assert read(external_field=text)[0].external == parts


@pytest.mark.parametrize("text", ["", "a", "a,", ",", "a,b,c"])
def test_external_field_without_pair_is_refused_like_the_sink(problems, text):
    (problem,) = problems(external_field=text)
    assert problem.startswith(f"Could not parse {text!r} for transforms.meta.external_field")


@pytest.mark.parametrize("key", ["nested", "include_key", "include_headers"])
def test_a_boolean_that_is_none_is_refused_in_kafkas_words(problems, key):
    (problem,) = problems(**{key: "yes"})
    expected = "Expected value to be either true or false"
    assert problem == f"Invalid value yes for configuration transforms.meta.{key}: {expected}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("org.apache.kafka.connect.transforms.ReplaceFields$Value", "did you mean org.apache"),
        (
            "org.apache.kafka.connect.transforms.ReplaceField",
            "write org.apache.kafka.connect.transforms.ReplaceField$Value",
        ),
        ("KafkaMetadata", "did you mean org.apache.iceberg.connect.transforms.KafkaMetadataTransform?"),
        ("com.example.Mine", "remove it, or transform upstream"),
        ("", "remove it, or transform upstream"),
    ],
)
def test_an_unknown_transform_is_refused_with_a_hint(problems, name, hint):
    (problem,) = problems(type=name)
    assert f"{name!r} is no transform that floe has: {hint}" in problem


def test_a_transform_without_a_type_is_refused_in_kafkas_words(problems):
    (problem,) = problems({"transforms": "meta,other"})
    assert problem.startswith('Missing required configuration "transforms.other.type" which has no default value')


def test_an_unknown_key_of_a_transform_is_refused(problems):
    (problem,) = problems(feild_name="x")
    assert "unknown key 'transforms.meta.feild_name'" in problem
    assert "field_name" in problem


def test_a_predicate_that_is_not_named_is_refused(problems):
    assert problems(predicate="p") == ["transforms.meta.predicate 'p' is none of predicates: name it there"]
    (problem,) = problems(negate="true")
    assert problem.startswith("transforms.meta.negate has no transforms.meta.predicate beside it")


HAS_HEADER = "org.apache.kafka.connect.transforms.predicates.HasHeaderKey"
MATCHES = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"predicates.p.type": HAS_HEADER}, "predicates.p.name is missing"),
        ({"predicates.p.type": MATCHES}, "predicates.p.pattern is missing"),
        ({"predicates.p.type": MATCHES, "predicates.p.pattern": "("}, "predicates.p.pattern '(' cannot be used"),
        ({"predicates.p.type": HAS_HEADER, "predicates.p.nam": "x"}, "unknown key 'predicates.p.nam'"),
        (
            {"predicates.p.type": HAS_HEADER, "predicates.p.name": "x", "predicates.q.name": "y"},
            "unknown key 'predicates.q",
        ),
        ({"predicates.p.type": "HasHeader"}, "predicates.p.type 'HasHeader' is no predicate that floe knows"),
        ({}, "predicates.p.type is missing"),
    ],
)
def test_a_wrong_predicate_is_refused(problems, keys, problem):
    found = problems({"predicates": "p", "transforms.meta.predicate": "p", **keys})
    assert any(one.startswith(problem) for one in found), found


def test_a_predicate_is_read_by_its_name(read):
    over = {"predicates": "p", "predicates.p.type": "HasHeaderKey", "predicates.p.name": "h"}
    read({**over, "transforms.meta.predicate": "p", "transforms.meta.negate": "true"})


def test_a_transform_named_twice_is_refused(problems):
    (problem,) = problems({"transforms": "meta,meta"})
    assert "'meta' twice: Duplicate alias provided." in problem


def test_a_long_name_is_refused_without_its_end(problems):
    (problem,) = problems({"transforms": "meta," + "m" * 100_000})
    assert problem == f"transforms names {'m' * 40!r}…, which has 100000 characters: write at most 100"


def test_an_empty_name_is_refused(problems):
    (problem,) = problems({"transforms": "meta,,"})
    assert problem.startswith("transforms has an empty name")


def test_keys_of_a_transform_that_is_not_named_are_refused():
    given = Settings({"transforms.meta.type": TYPE})
    assert read_transforms(given) == ()
    (problem,) = given.problems
    assert problem.startswith("unknown key 'transforms.meta.type': transforms does not name this transform")


def test_two_transforms_of_the_same_columns_are_refused(problems):
    found = problems({"transforms": "meta,other", "transforms.other.type": TYPE})
    assert "two transforms write column '_kafka_metadata_topic': set another field_name for one of them" in found
    assert len(found) == 4


def test_nested_and_flat_column_of_one_name_are_refused(problems):
    over = {"transforms": "meta,other", "transforms.other.type": TYPE, "transforms.other.nested": "true"}
    (problem,) = problems(over | {"transforms.other.field_name": "_kafka_metadata_topic"})
    assert problem.startswith("two transforms write column '_kafka_metadata_topic'")


@pytest.mark.parametrize("nested", ["true", "false"])
@pytest.mark.parametrize("name", ["topic", "timestamp"])
def test_an_external_field_may_not_cover_another_field(problems, name, nested):
    (problem,) = problems(external_field=f"{name},x", nested=nested)
    assert f"is named {name!r}, as a field of the transform itself" in problem


def test_external_field_may_have_the_name_of_unwanted_field(read, problems):
    assert read(external_field="key,x")[0].parts[-1] == "key"
    assert len(problems(external_field="key,x", include_key="true")) == 1


@pytest.mark.parametrize(
    "keys",
    [
        {"field_name": "", "nested": "true"},
        {"field_name": "a\tb", "nested": "true"},
        {"field_name": "a" * 256, "nested": "true"},
        {"external_field": ",x", "nested": "true"},
    ],
)
def test_a_column_needs_a_name_that_can_be_read(problems, keys):
    (problem,) = problems(**keys)
    assert problem.startswith("transforms.meta.* asks for a column")


def test_no_value_is_written_out_in_full(problems):
    for problem in problems(external_field="x" * 5000) + problems(type="x" * 5000):
        assert len(problem) < 500


@pytest.mark.parametrize("name", ["DebeziumTransform", "DmsTransform"])
def test_rows_of_deletes_are_appended_with_a_note(connector, name):
    kind = {"transforms": "cdc", "transforms.cdc.type": f"org.apache.iceberg.connect.transforms.{name}"}
    keys = {"key.converter": "org.apache.kafka.connect.storage.StringConverter"}
    found = connector({**kind, **keys})
    assert [one for one in found.warnings if "cdc" in one] == [], "make check STRICT=1 has to pass"
    (note,) = found.notes
    assert note == (
        "transform 'cdc' makes rows of updates and deletes with a column _cdc: they are appended, floe has no upserts yet"
    )
