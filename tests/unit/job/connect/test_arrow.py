"""The Arrow type of each schema of Connect."""

import pickle

import pyarrow as pa
import pytest

from floe_job.connect import logical
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind, array, map_of, struct

LONG, TEXT = ConnectSchema(Kind.INT64), ConnectSchema(Kind.STRING, optional=True)


def decimal(scale: str) -> ConnectSchema:
    return ConnectSchema(Kind.BYTES, name=logical.DECIMAL, parameters=((logical.SCALE, scale),))


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in {Kind.ARRAY, Kind.MAP, Kind.STRUCT}])
def test_arrow_type_of_every_plain_kind_is_known(kind: Kind) -> None:
    assert arrow_type(ConnectSchema(kind)) == arrow_type(ConnectSchema(kind, optional=True, name="com.acme.Own"))


def test_arrow_type_of_nested_schemas_keeps_names_and_order() -> None:
    schema = struct({"b": LONG, "a": array(decimal("2")), "m": map_of(TEXT, struct({"x": LONG}))})
    inner = pa.map_(pa.large_string(), pa.struct([("x", pa.int64())]))
    wanted = [("b", pa.int64()), ("a", pa.large_list(pa.decimal128(38, 2))), ("m", inner)]
    assert arrow_type(schema) == pa.struct(wanted)


def test_arrow_type_of_logical_names_needs_their_kind() -> None:
    assert arrow_type(ConnectSchema(Kind.INT64, name=logical.TIMESTAMP)) == pa.timestamp("us", "UTC")
    assert arrow_type(ConnectSchema(Kind.STRING, name=logical.TIMESTAMP)) == pa.large_string()


@pytest.mark.parametrize("scale", ["", "-1", "39", "two", "²"])
def test_arrow_type_of_decimal_with_bad_scale_is_refused(scale: str) -> None:
    with pytest.raises(ValueError, match="scales from 0 to 38"):
        arrow_type(decimal(scale))


def test_schema_without_default_differs_from_default_null() -> None:
    without, null = LONG, ConnectSchema(Kind.INT64, default=None)
    assert without != null
    assert pickle.loads(pickle.dumps(without)).default is ABSENT  # noqa: S301
    assert hash(ConnectSchema(Kind.ARRAY, default=[1], element=LONG)) is not None
