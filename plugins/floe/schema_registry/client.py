"""Schemas by their id, each asked once: kept in the process, and on disk for the next one."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from floe.config.schema_registry.settings import IdKind, RegistrySettings
from floe.config.secrets import mask
from floe.config.secrets.detection import is_reference
from floe.schema_registry.apis import APIS
from floe.schema_registry.exceptions import RegistryMisconfigured, RegistryUnreachable, SchemaMissing, SchemaRefused
from floe.schema_registry.references import with_references
from floe.schema_registry.schema import RegisteredSchema, SchemaReference, SchemaText
from floe.schema_registry.schema_files import SchemaFiles
from floe.schema_registry.service import RegistryService

log = logging.getLogger(__name__)

MAX_AGE: Final = 3600.0
"""Seconds after which a schema is asked for again: a registry that was deleted and set up again gives its ids again."""
MAX_UNUSABLE: Final = 1_000
"""Ids without a usable schema in one run, after which no other is asked for: records may have any id, each is a request."""
MAX_SCHEMAS: Final = 1_000
MAX_CHARACTERS: Final = 32 * 1024 * 1024
"""Of the schemas that are kept in the process."""
MAX_REGISTRIES: Final = 8

_MAX_GUID: Final = (1 << 128) - 1

_Key = tuple[str, ...]


class SchemaRegistry:
    """A registry with what it answered; threads may use it together. Processes that are forked need their own.

    Nothing is sent before the first schema is wanted. Raises RegistryMisconfigured for settings that are references.
    """

    def __init__(self, settings: RegistrySettings, files: SchemaFiles | None = None) -> None:
        _check_resolved(settings)
        mask.learn(settings.secrets())
        self._settings = settings
        self._service = RegistryService(settings)
        self._api = APIS[settings.api](settings)
        self._files = files
        self._identity = settings.identity
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, RegisteredSchema] = OrderedDict()
        self._characters = 0
        self._unusable: dict[_Key, SchemaRefused] = {}
        self._read_at: dict[_Key, float] = {}
        self._is_down = False

    def schema(self, schema_id: int, kind: IdKind | None = None) -> RegisteredSchema:
        """Return the schema of an id with all that it refers to. ``kind``: what the id counts, else as configured.

        Raises UnknownSchema and UnusableSchema, which are about this id only; RegistryUnreachable, RegistryRefused,
        NotARegistry and RegistryMisconfigured, after which nothing can be read. After MAX_UNUSABLE ids that are not usable,
        all that are not kept already are UnknownSchema.
        """
        kind = kind or self._settings.ids.kind
        if not 0 <= schema_id <= (_MAX_GUID if kind == "guid" else self._api.max_id):
            msg = f"no schema can have the id {schema_id}"
            raise SchemaMissing(msg, schema_id)
        label = str(UUID(int=schema_id)) if kind == "guid" else schema_id
        return self._get((kind, str(schema_id)), label, lambda: self._api.by_id(self._service.get, kind, schema_id))

    def version(self, reference: SchemaReference) -> RegisteredSchema:
        """Return a version of a subject or artifact with all that it refers to. Raises as ``schema`` does."""
        key = ("version", *reference.place)
        return self._get(key, str(reference), lambda: self._api.by_reference(self._service.get, reference))

    def start_run(self) -> None:
        """Forget which ids were unknown: since the last run they may have been registered.

        Forget schemas that were read longer than MAX_AGE ago, and those that came from the disk, which knows their age.
        """
        with self._lock:
            self._unusable.clear()
            self._is_down = False
            now = time.monotonic()
            for key in [key for key in self._known if now - self._read_at.get(key, -MAX_AGE) >= MAX_AGE]:
                self._forget(key)

    def _get(self, key: _Key, label: int | str, read: Callable[[], SchemaText | None]) -> RegisteredSchema:
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
            if key in self._unusable:
                # a new one each time: raising adds a traceback
                before = self._unusable[key]
                raise type(before)(str(before), label)
            found = self._stored(key, None if self._is_down else MAX_AGE)
            if found is None:
                found = self._read_or_stored(key, label, read)
            self._keep(key, found)
            return found

    def _read_or_stored(self, key: _Key, label: int | str, read: Callable[[], SchemaText | None]) -> RegisteredSchema:
        """Ask the registry; where it does not answer, a schema on disk is used whatever its age."""
        try:
            return self._read(key, label, read)
        except RegistryUnreachable as error:
            found = self._stored(key, None)
            if found is None:
                raise
            self._is_down = True
            log.warning("%s; schemas that are on disk are used for the rest of this run", mask.hide(str(error)))
            return found

    def _read(self, key: _Key, label: int | str, read: Callable[[], SchemaText | None]) -> RegisteredSchema:
        if len(self._unusable) >= MAX_UNUSABLE:
            msg = f"schema {label} was not looked up, as {MAX_UNUSABLE} others in this run are unknown"
            raise SchemaMissing(msg, label)
        try:
            text = read()
            if text is None:
                msg = f"the schema registry has no schema {label}"
                raise SchemaMissing(msg, label)
            found = with_references(text, lambda one: self._api.by_reference(self._service.get, one), label)
        except SchemaRefused as error:
            self._unusable[key] = type(error)(str(error), label)
            raise type(error)(str(error), label) from None
        self._read_at[key] = time.monotonic()
        if self._files is not None and self._is_stored(key):
            self._files.store(self._file(key), found)
        return found

    def _stored(self, key: _Key, max_age: float | None) -> RegisteredSchema | None:
        return self._files.load(self._file(key), max_age) if self._files is not None and self._is_stored(key) else None

    def _is_stored(self, key: _Key) -> bool:
        """Whether it is kept on disk: as long as a registry lives an id has one schema, a version may get another."""
        return key[0] != "version"

    def _file(self, key: _Key) -> str:
        return "-".join((self._identity, *key))

    def _keep(self, key: _Key, schema: RegisteredSchema) -> None:
        self._known[key] = schema
        self._characters += schema.characters
        while len(self._known) > 1 and (len(self._known) > MAX_SCHEMAS or self._characters > MAX_CHARACTERS):
            self._forget(next(iter(self._known)))

    def _forget(self, key: _Key) -> None:
        self._characters -= self._known.pop(key).characters
        self._read_at.pop(key, None)


def _check_resolved(settings: RegistrySettings) -> None:
    """Refuse references to secrets: they would be sent instead of the secrets."""
    texts = {f"address {at}": one.url for at, one in enumerate(settings.addresses, 1)} | settings.secrets()
    unresolved = [name for name, text in texts.items() if is_reference(text)]
    if unresolved:
        msg = (
            f"the registry's settings below {settings.prefix!r} have references that were not resolved: "
            f"{', '.join(unresolved)}. Nothing was sent. Write the values, or references of a provider that floe has"
        )
        raise RegistryMisconfigured(msg)


class Registries:
    """The registries of one process, whatever runs it serves: schemas outlive a run, unknown ids do not."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._lock = threading.Lock()
        self._open: OrderedDict[RegistrySettings, tuple[str, SchemaRegistry]] = OrderedDict()

    def of_run(self, settings: RegistrySettings, run: str) -> SchemaRegistry:
        """Return the registry for a run; ``run`` is any text that differs between runs."""
        with self._lock:
            before, registry = self._open.pop(settings, (run, None))
            if registry is None:
                registry = SchemaRegistry(settings, SchemaFiles.open(self._environ))
            elif before != run:
                registry.start_run()
            self._open[settings] = (run, registry)
            while len(self._open) > MAX_REGISTRIES:
                self._open.popitem(last=False)
            return registry
