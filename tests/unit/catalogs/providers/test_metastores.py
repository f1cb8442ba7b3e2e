"""What Hive's and Glue's providers say of errors, and of packages that are not installed."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ParamValidationError, ReadTimeoutError
from hive_metastore.ttypes import MetaException
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.catalog.hive import HiveCatalog
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TTransportException

from floe.catalogs.client import CatalogClient
from floe.catalogs.errors import Answer
from floe.catalogs.exceptions import CatalogMisconfigured
from floe.catalogs.providers.glue.provider import GlueProvider
from floe.catalogs.providers.hive.catalog import LockHeld
from floe.catalogs.providers.hive.provider import HiveProvider
from floe.config import Connector, parse_connector
from tests.support.connectors import MINIMAL

GONE = TApplicationException(TApplicationException.UNKNOWN_METHOD, "Invalid method name: 'get_table'")


def connector(**keys: str) -> Connector:
    given: dict[str, Any] = {key: value for key, value in MINIMAL.items() if not key.startswith("iceberg.catalog.")}
    return parse_connector({**given, **{f"iceberg.catalog.{key}": value for key, value in keys.items()}})


def of_glue(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "m"}}, "UpdateTable")


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (LockHeld("held"), Answer.UNREACHABLE),
        (MetaException("AccessControlException: Permission denied: user=x"), Answer.REFUSED),
        (MetaException("the database is away"), Answer.UNKNOWN),
        (TTransportException(message="read timeout"), Answer.UNKNOWN),
        (GONE, Answer.REFUSED),
    ],
)
def test_error_of_a_commit_to_hive_is_told_apart(error: Exception, answer: Answer) -> None:
    assert HiveProvider().classify(error, was_sent=True) is answer


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("AccessDeniedException", Answer.REFUSED),
        ("InvalidInputException", Answer.REFUSED),
        ("ThrottlingException", Answer.UNREACHABLE),
        ("InternalServiceException", Answer.UNKNOWN),
        ("OperationTimeoutException", Answer.UNKNOWN),
        ("ConcurrentModificationException", Answer.CONFLICT),
        ("EntityNotFoundException", Answer.REFUSED),
        ("SlowDown", Answer.UNREACHABLE),
        ("503", Answer.UNKNOWN),
        ("429", Answer.UNREACHABLE),
        ("SomethingNew", Answer.UNKNOWN),
    ],
)
def test_error_of_a_commit_to_glue_is_told_apart(code: str, answer: Answer) -> None:
    assert GlueProvider().classify(of_glue(code), was_sent=True) is answer


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (of_glue("InternalServiceException"), Answer.UNREACHABLE),
        (of_glue("NoSuchBucket"), Answer.REFUSED),
        (of_glue("SomethingNew"), Answer.UNKNOWN),
        (of_glue("502"), Answer.UNREACHABLE),
        (of_glue("403"), Answer.REFUSED),
        (EndpointConnectionError(endpoint_url="https://glue"), Answer.UNREACHABLE),
        (ReadTimeoutError(endpoint_url="https://glue"), Answer.UNREACHABLE),
        (ParamValidationError(report="name"), Answer.REFUSED),
    ],
)
def test_error_of_a_question_to_glue_is_told_apart(error: Exception, answer: Answer) -> None:
    assert GlueProvider().classify(error, was_sent=False) is answer


@pytest.mark.parametrize(
    ("module", "keys", "file"),
    [
        ("thrift.Thrift", {"type": "hive", "uri": "thrift://h:1", "warehouse": "/w"}, "airflow-provider-floe[hive]"),
        ("botocore.exceptions", {"type": "glue", "warehouse": "/w"}, "airflow-provider-floe[aws]"),
    ],
)
def test_missing_package_is_named_with_its_file(
    monkeypatch: pytest.MonkeyPatch, module: str, keys: dict[str, str], file: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    for name in list(sys.modules):
        if name.startswith(
            ("floe.catalogs.providers.hive.", "floe.catalogs.providers.glue.", "pyiceberg.catalog.hive")
        ):
            monkeypatch.delitem(sys.modules, name)
    with pytest.raises(CatalogMisconfigured, match=re.escape(file)):
        CatalogClient.of(connector(**keys))


def test_glue_without_a_region_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(CatalogMisconfigured, match=r"set iceberg\.catalog\.client\.region"):
        CatalogClient.of(connector(type="glue", warehouse="/w"))


def test_parts_of_pyiceberg_that_are_replaced_are_there() -> None:
    for name in ("_create_hive_client", "_convert_hive_into_iceberg", "_wait_for_lock", "_create_lock_request"):
        assert callable(getattr(HiveCatalog, name))
    assert callable(GlueCatalog._convert_glue_to_iceberg)
