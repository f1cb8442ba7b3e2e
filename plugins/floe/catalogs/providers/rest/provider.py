"""Iceberg's REST catalogs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError as InvalidFields
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    BadRequestError,
    NoSuchNamespaceError,
    RESTError,
)

from floe.catalogs.errors import Answer, answer_of, first_line
from floe.catalogs.exceptions import CatalogMisconfigured
from floe.catalogs.providers.base import PlainProvider, settings_with_address
from floe.catalogs.pyiceberg_patches import guard_auth_managers
from floe.config.secrets.mask import clip

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from floe.config.sections.catalog import CatalogSpec

_CLEAR = (AuthorizationExpiredError, BadRequestError, NotImplementedError, CatalogMisconfigured)
"""Answers by which nothing was changed, and errors before anything was sent."""
_SHOWN = 300


class RestProvider(PlainProvider):
    """PyIceberg's REST catalog, with floe's login and transport, and checks of its answers."""

    modules = ("floe.catalogs.providers.rest.catalog",)
    is_committed_by_server = True

    def open(self, spec: CatalogSpec) -> Catalog:
        """Open it. Raises CatalogMisconfigured if its answer is refused, ValueError without an address."""
        # it imports requests, which other catalogs do not need
        from floe.catalogs.providers.rest.catalog import CheckedRestCatalog

        guard_auth_managers()
        return CheckedRestCatalog(spec.name, **settings_with_address(spec))

    def classify(self, error: Exception, *, was_sent: bool) -> Answer:
        """Classify as for every catalog; 400 and 501 changed nothing, and nor did a login that expired."""
        if isinstance(error, _CLEAR) and (was_sent or isinstance(error, AuthorizationExpiredError)):
            return Answer.REFUSED
        return answer_of(error, was_sent=was_sent)

    def misconfiguration(self, spec: CatalogSpec, error: Exception) -> str | None:
        """Name answers that come again: of another server, of another version, of an endpoint that is not there."""
        name = spec.name
        if isinstance(error, InvalidFields) and error.errors()[0]["type"] != "json_invalid":
            return f"catalog {name!r} answers with what is not understood: {_fields_of(error)}. {_CHECK}"
        if isinstance(error, NotImplementedError):
            return (
                f"catalog {name!r} does not do what is asked: {first_line(error)}. Use another catalog, or do it there"
            )
        if isinstance(error, NoSuchNamespaceError) or _is_of_answer(error):
            return f"catalog {name!r} cannot be used: {first_line(error)}. {_CHECK}"
        return None


_CHECK = "Nothing was read or written. Check iceberg.catalog.uri and iceberg.catalog.warehouse"


def _is_of_answer(error: Exception) -> bool:
    if type(error) is RESTError or isinstance(error, BadRequestError):
        return True
    from floe.catalogs.providers.rest.transport import AnswerRefused

    return isinstance(error, AnswerRefused)


def _fields_of(error: InvalidFields) -> str:
    first = error.errors()[0]
    return clip(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", _SHOWN)
