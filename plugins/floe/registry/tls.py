"""TLS contexts of the standard library, from PEM files and texts."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from floe.config.registry.settings import TlsSettings
from floe.registry.exceptions import RegistryMisconfigured


def registry_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return the context of connections to the registry. Raises RegistryMisconfigured."""
    context = _trusting(settings, also_system=False)
    context.check_hostname = settings.verify_hostname
    _identify(context, settings)
    return context


def token_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return the context for the server of tokens: it trusts the system's authorities besides, and has no certificate.

    Tokens often come from a public service, while the registry has a certificate of an authority of its own.
    """
    return _trusting(settings, also_system=True)


def _trusting(settings: TlsSettings, *, also_system: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    is_given = bool(settings.ca_file or settings.ca_pem)
    try:
        if is_given:
            context.load_verify_locations(cafile=settings.ca_file or None, cadata=settings.ca_pem or None)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        where = repr(settings.ca_file) if settings.ca_file else "the given text"
        msg = f"the registry's certificate authorities in {where} cannot be read: {_reason(error)}; PEM is needed"
        raise RegistryMisconfigured(msg) from None
    if also_system or not is_given:
        context.load_default_certs()
    return context


def _identify(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Load the client's own certificate, if there is one."""
    try:
        if settings.certificate_file:
            context.load_cert_chain(
                settings.certificate_file, settings.key_file or None, settings.key_password or _no_password
            )
        elif settings.certificate_pem:
            _load_texts(context, settings)
    except (OSError, ValueError) as error:
        where = repr(settings.certificate_file) if settings.certificate_file else "the given texts"
        msg = (
            f"the client's certificate and key for the registry, in {where}, cannot be used: {_reason(error)}; PEM is "
            "needed, and ssl.key.password if the key is encrypted"
        )
        raise RegistryMisconfigured(msg) from None


def _load_texts(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Load texts through a file, which only this user can read and which is gone afterwards: OpenSSL reads files."""
    with tempfile.TemporaryDirectory(prefix="floe-") as folder:
        file = Path(folder, "client.pem")
        file.touch(mode=0o600)
        file.write_text(f"{settings.certificate_pem}\n{settings.key_pem}\n")
        context.load_cert_chain(file, None, settings.key_password or _no_password)


def _no_password() -> str:
    """Refuse an encrypted key without a password; OpenSSL would ask at the terminal."""
    msg = "the key is encrypted"
    raise ValueError(msg)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "no PEM certificate or key in it"
    return getattr(error, "strerror", None) or str(error)
