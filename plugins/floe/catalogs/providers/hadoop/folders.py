"""The folders of a Hadoop catalog: which are namespaces, and which are tables."""

from __future__ import annotations

import errno
import re
from abc import ABC
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pyiceberg.catalog import WAREHOUSE_LOCATION, MetastoreCatalog, PropertiesUpdateSummary
from pyiceberg.exceptions import NamespaceAlreadyExistsError, NamespaceNotEmptyError, NoSuchNamespaceError
from pyiceberg.table import Table
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties

from floe.catalogs.exceptions import TableUnsuitable
from floe.catalogs.providers.hadoop.version_folder import VersionFolder
from floe.config.catalogs.hadoop import warehouse_folder

METADATA: Final = "metadata"
_NO_FOLDER: Final = re.compile(r"\.{0,2}|.*[/\\:?#%\x00-\x1f\x7f].*|\..*", re.DOTALL)
"""Names that are no folder, or are another one for some reader."""


class FolderCatalog(MetastoreCatalog, ABC):
    """A folder is a table if its ``metadata`` has a version, else it is a namespace."""

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self._root = Path(warehouse_folder(properties[WAREHOUSE_LOCATION]))

    # -- namespaces -----------------------------------------------------------------------------------------------------

    def create_namespace(self, namespace: str | Identifier, properties: Properties = EMPTY_DICT) -> None:
        """Create a folder. Raises NamespaceAlreadyExistsError, NotImplementedError for properties."""
        names = self.identifier_to_tuple(namespace)
        if properties:
            msg = "a namespace of a Hadoop catalog has no properties"
            raise NotImplementedError(msg)
        path = self.path_of(names)
        for depth in range(1, len(names)):
            if is_table(self.path_of(names[:depth])):
                msg = f"namespace {'.'.join(names)!r} cannot be made: {'.'.join(names[:depth])!r} is a table"
                raise TableUnsuitable(msg)
        try:
            path.mkdir(parents=True)
        except FileExistsError as error:
            msg = f"Namespace {'.'.join(names)} already exists"
            raise NamespaceAlreadyExistsError(msg) from error

    def drop_namespace(self, namespace: str | Identifier) -> None:
        """Remove an empty folder. Raises NoSuchNamespaceError, NamespaceNotEmptyError."""
        names = self.identifier_to_tuple(namespace)
        self.require_namespace(names)
        try:
            self.path_of(names).rmdir()
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            msg = f"Namespace {'.'.join(names)} is not empty"
            raise NamespaceNotEmptyError(msg) from error

    def list_namespaces(self, namespace: str | Identifier = ()) -> list[Identifier]:
        """List the namespaces directly in one, or at the top. Raises NoSuchNamespaceError."""
        names = self.identifier_to_tuple(namespace)
        if names:
            self.require_namespace(names)
        return [(*names, path.name) for path in self.folders_of(names) if not is_table(path)]

    def load_namespace_properties(self, namespace: str | Identifier) -> Properties:
        """Return a namespace's location. Raises NoSuchNamespaceError."""
        names = self.identifier_to_tuple(namespace)
        self.require_namespace(names)
        return {"location": self.location_of(names)}

    # -- folders --------------------------------------------------------------------------------------------------------

    def path_of(self, names: Identifier) -> Path:
        """Return the folder of a table or namespace. Raises TableUnsuitable for a name that is no folder's."""
        for name in names:
            if _NO_FOLDER.fullmatch(name):
                msg = f"{'.'.join(names)!r} cannot be a table or namespace of a Hadoop catalog: {name!r} is no folder's name"
                raise TableUnsuitable(msg)
        return self._root.joinpath(*names)

    def location_of(self, names: Identifier) -> str:
        """Return the folder's address, below the warehouse as it is configured."""
        return "/".join((self.properties[WAREHOUSE_LOCATION].strip().rstrip("/"), *names))

    def folders_of(self, names: Identifier) -> Iterator[Path]:
        """Return the folders directly in a namespace that have a name which floe reads."""
        found = self.path_of(names).iterdir()
        return (path for path in found if path.is_dir() and not _NO_FOLDER.fullmatch(path.name))

    def require_namespace(self, names: Identifier) -> None:
        """Raise NoSuchNamespaceError for what is no namespace."""
        path = self.path_of(names)
        if not names or not path.is_dir() or is_table(path):
            msg = f"Namespace does not exist: {'.'.join(names)}"
            raise NoSuchNamespaceError(msg)

    # -- what these catalogs do not have --------------------------------------------------------------------------------

    def register_table(self, identifier: str | Identifier, metadata_location: str, overwrite: bool = False) -> Table:
        """Refuse: a table is where its folder is."""
        raise NotImplementedError

    def rename_table(self, from_identifier: str | Identifier, to_identifier: str | Identifier) -> Table:
        """Refuse: a table's files have its folder in their names."""
        raise NotImplementedError

    def update_namespace_properties(
        self, namespace: str | Identifier, removals: set[str] | None = None, updates: Properties = EMPTY_DICT
    ) -> PropertiesUpdateSummary:
        """Refuse: a folder has no properties."""
        raise NotImplementedError

    def list_views(self, namespace: str | Identifier) -> list[Identifier]:
        """Return none."""
        return []

    def view_exists(self, identifier: str | Identifier) -> bool:
        """Return False."""
        return False

    def load_view(self, *_: Any, **__: Any) -> Any:
        """Refuse: there are no views."""
        raise NotImplementedError

    register_view = drop_view = load_view


def is_table(path: Path) -> bool:
    """Say whether a folder is a table's."""
    try:
        with VersionFolder.open(path / METADATA) as folder:
            return folder.has_versions()
    except (FileNotFoundError, NotADirectoryError):
        return False
