"""Process-wide changes of PyIceberg: :func:`apply`, called when a catalog is opened.

* Doubles of Avro files are read whole. PyIceberg's compiled decoder returns them with the precision of a float, so ``12.34``
  of a partition would become ``12.34000015258789`` when a manifest is rewritten, and a search would not find files of such
  partitions.
* Lists and maps that are null stay null when their children are projected.
* A class that a table or a catalog names is not loaded (``code_guard``).
* What becomes a part of a store's address is checked before a client sees it (``arrow_file_io``).
* Locations at Azure and Google have a FileIO of floe's own (``azure_file_io``, ``gcs_file_io``).
"""

import logging
import struct
from functools import cache
from typing import Any, Final

import pyarrow as pa
import pyiceberg.catalog
import pyiceberg.io
import pyiceberg.table.locations
from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.reader import DoubleReader
from pyiceberg.io import pyarrow as engine
from pyiceberg.types import ListType, MapType

from floe.catalogs.cloud_file_io import check_place, check_settings
from floe.catalogs.code_guard import (
    AUTH,
    CATALOG,
    CLOUD_FILE_IOS,
    FILE_IO,
    LOCATION_PROVIDER,
    RETRY_STRATEGY,
    check_class,
)
from floe.private_names import PrivateName

log = logging.getLogger(__name__)

_LOADED = "code that a table or a catalog names is not loaded"
_ALLOW_LIST = "a list in PyIceberg of the classes that may be loaded"
_NULLS = "a projection that keeps the nulls of lists and maps"

PRIVATE_NAMES: Final = (
    PrivateName("pyiceberg.io:_import_file_io", _LOADED, _ALLOW_LIST, ("io_impl", "properties")),
    PrivateName(
        "pyiceberg.table.locations:_import_location_provider",
        _LOADED,
        _ALLOW_LIST,
        ("location_provider_impl", "table_location", "table_properties"),
    ),
    PrivateName(
        "pyiceberg.io.pyarrow:PyArrowFileIO._initialize_fs",
        "Arrow's clients take any text for a host",
        "a check of locations in PyIceberg",
        ("self", "scheme", "netloc"),
    ),
    PrivateName("pyiceberg.catalog:_import_catalog", _LOADED, _ALLOW_LIST, ("name", "catalog_impl", "properties")),
    PrivateName(
        "pyiceberg.io.pyarrow:ArrowProjectionVisitor._construct_field", _NULLS, _NULLS, ("self", "field", "arrow_type")
    ),
    PrivateName(
        "pyiceberg.io.pyarrow:ArrowProjectionVisitor._cast_if_needed", _NULLS, _NULLS, ("self", "field", "values")
    ),
)

_LISTS = (pa.ListArray, pa.LargeListArray)
_DOUBLE = struct.Struct("<d")

_import_file_io: Final = pyiceberg.io._import_file_io
_initialize_fs: Final = engine.PyArrowFileIO._initialize_fs
_import_location_provider: Final = pyiceberg.table.locations._import_location_provider
_import_catalog: Final = pyiceberg.catalog._import_catalog


@cache
def apply() -> None:
    """Change PyIceberg for this process, once; repeating it does nothing."""
    DoubleReader.read = _WholeDoubleReader.read  # type: ignore[assignment]
    engine.ArrowProjectionVisitor = NullKeeping  # type: ignore[misc]
    engine.PyArrowFileIO._initialize_fs = _checked_file_system  # type: ignore[method-assign]
    pyiceberg.io._import_file_io = _checked_file_io
    pyiceberg.io.SCHEMA_TO_FILE_IO.update((scheme, [name]) for scheme, name in CLOUD_FILE_IOS.items())
    pyiceberg.table.locations._import_location_provider = _checked_location_provider
    pyiceberg.catalog._import_catalog = _checked_catalog
    log.debug("PyIceberg %s is patched: doubles, nulls of lists and maps, loaded classes", pyiceberg.__version__)


@cache
def guard_auth_managers() -> None:
    """Let REST catalogs of this process load no auth manager but PyIceberg's own and the operator's."""
    from pyiceberg.catalog.rest.auth import AuthManager, AuthManagerFactory

    create = AuthManagerFactory.create

    def checked(class_or_name: str, config: dict[str, Any]) -> AuthManager:
        check_class(AUTH, class_or_name)
        return create(class_or_name, config)

    AuthManagerFactory.create = staticmethod(checked)  # type: ignore[method-assign]


class _WholeDoubleReader(DoubleReader):
    def read(self, decoder: BinaryDecoder) -> float:
        value: float = _DOUBLE.unpack(decoder.read(_DOUBLE.size))[0]
        return value


class NullKeeping(engine.ArrowProjectionVisitor):
    """Keeps the file's offsets and nulls of lists and maps, and puts projected children below."""

    def list(self, list_type: ListType, list_array: Any, value_array: Any) -> Any:
        if not isinstance(list_array, _LISTS) or value_array is None or not pa.types.is_nested(value_array.type):
            return super().list(list_type, list_array, value_array)
        element = self._construct_field(list_type.element_field, value_array.type)
        is_large = isinstance(list_array, pa.LargeListArray)
        return _over(list_array, pa.large_list(element) if is_large else pa.list_(element), value_array)

    def map(self, map_type: MapType, map_array: Any, key_result: Any, value_result: Any) -> Any:
        nested = [one for one in (key_result, value_result) if one is not None and pa.types.is_nested(one.type)]
        if not isinstance(map_array, pa.MapArray) or key_result is None or value_result is None or not nested:
            return super().map(map_type, map_array, key_result, value_result)
        keys = self._cast_if_needed(map_type.key_field, key_result)
        values = self._cast_if_needed(map_type.value_field, value_result)
        kind = pa.map_(
            self._construct_field(map_type.key_field, keys.type),
            self._construct_field(map_type.value_field, values.type),
        )
        entries = pa.StructArray.from_arrays([keys, values], fields=[kind.key_field, kind.item_field])
        return _over(map_array, kind, entries)


def _over(array: Any, kind: pa.DataType, child: pa.Array) -> pa.Array:
    """Put another child below the offsets and nulls of a list or a map."""
    return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], offset=array.offset, children=[child])


def _checked_file_io(io_impl: str, properties: dict[str, Any]) -> Any:
    check_class(FILE_IO, io_impl)
    check_settings(properties)
    if strategy := properties.get(RETRY_STRATEGY):
        check_class(RETRY_STRATEGY, strategy)
    return _import_file_io(io_impl, properties)


def _checked_file_system(self: engine.PyArrowFileIO, scheme: str, netloc: str | None = None) -> Any:
    check_place(scheme, netloc or "")
    return _initialize_fs(self, scheme, netloc)


def _checked_location_provider(
    location_provider_impl: str, table_location: str, table_properties: dict[str, Any]
) -> Any:
    check_class(LOCATION_PROVIDER, location_provider_impl)
    return _import_location_provider(location_provider_impl, table_location, table_properties)


def _checked_catalog(name: str, catalog_impl: str, properties: dict[str, Any]) -> Any:
    check_class(CATALOG, catalog_impl)
    return _import_catalog(name, catalog_impl, properties)
