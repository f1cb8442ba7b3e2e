"""TLS contexts of the standard library, from PEM files and texts and from Java's stores."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from floe.config.registry.settings import TlsSettings
from floe.registry.exceptions import RegistryMisconfigured
from floe.tls.exceptions import StoreUnusable
from floe.tls.store_file import StoreFile
from floe.tls.stores import Identity, identity, trusted_certificates


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
    is_given = bool(settings.ca_file or settings.ca_pem or settings.truststore)
    try:
        if settings.truststore:
            _trust_store(context, settings.truststore)
        if settings.ca_file or settings.ca_pem:
            context.load_verify_locations(cafile=settings.ca_file or None, cadata=settings.ca_pem or None)
    except StoreUnusable as error:
        raise _unusable(error) from None
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        where = repr(settings.ca_file) if settings.ca_file else "the given text"
        msg = f"the registry's certificate authorities in {where} cannot be read: {_reason(error)}; PEM is needed"
        raise RegistryMisconfigured(msg) from None
    if also_system or not is_given:
        context.load_default_certs()
    return context


def _trust_store(context: ssl.SSLContext, store: StoreFile) -> None:
    """Trust the certificates of a store, as Java does: each by itself, whoever issued it. Raises StoreUnusable."""
    text = trusted_certificates(store)
    try:
        context.load_verify_locations(cadata=text)
    except ssl.SSLError as error:
        msg = f"{store.option} {store.path!r}: a certificate in it cannot be read: {_reason(error)}"
        raise StoreUnusable(msg) from None
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def _identify(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Load the client's own certificate, if there is one."""
    try:
        if settings.certificate_file:
            context.load_cert_chain(
                settings.certificate_file, settings.key_file or None, settings.key_password or _no_password
            )
        elif settings.certificate_pem:
            _load_texts(context, Identity(settings.certificate_pem, settings.key_pem, settings.key_password))
        elif settings.keystore:
            _load_texts(context, identity(settings.keystore, settings.key_password))
    except StoreUnusable as error:
        raise _unusable(error) from None
    except (OSError, ValueError) as error:
        msg = (
            f"the client's certificate and key for the registry, in {_place(settings)}, cannot be used: {_reason(error)}; "
            "they must belong together and be PEM or in a store, and ssl.key.password is needed if the key is encrypted"
        )
        raise RegistryMisconfigured(msg) from None


def _unusable(error: StoreUnusable) -> RegistryMisconfigured:
    msg = f"{error}. Nothing was asked of the registry"
    return RegistryMisconfigured(msg)


def _place(settings: TlsSettings) -> str:
    store = settings.keystore.path if settings.keystore and not settings.certificate_pem else ""
    path = settings.certificate_file or store
    return repr(path) if path else "the given texts"


def _load_texts(context: ssl.SSLContext, one: Identity) -> None:
    """Load texts through a file, which only this user can read and which is gone afterwards: OpenSSL reads files."""
    with tempfile.TemporaryDirectory(prefix="floe-") as folder:
        file = Path(folder, "client.pem")
        file.touch(mode=0o600)
        file.write_text(f"{one.certificates}\n{one.key}\n")
        context.load_cert_chain(file, None, one.key_password or _no_password)


def _no_password() -> str:
    """Refuse an encrypted key without a password; OpenSSL would ask at the terminal."""
    msg = "the key is encrypted"
    raise ValueError(msg)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "no PEM certificate or key in it"
    return getattr(error, "strerror", None) or str(error)
