"""Certificates for servers and clients on loopback, of an authority made for the test."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Identity:
    """A certificate and its key, as PEM files and texts."""

    certificate: Path
    key: Path

    @property
    def certificate_text(self) -> str:
        """The certificate."""
        return self.certificate.read_text()

    @property
    def key_text(self) -> str:
        """The key."""
        return self.key.read_text()


@dataclass
class Authority:
    """A certificate authority; its files are in ``folder``."""

    folder: Path
    name: str = "authority"
    _key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def __post_init__(self) -> None:
        self.file.write_bytes(self._signed(_subject(self.name), self._key, is_authority=True))

    @property
    def file(self) -> Path:
        """The authority's own certificate."""
        return self.folder / f"{self.name}.pem"

    def issue(self, name: str, host: str = "127.0.0.1", password: str = "", *, is_expired: bool = False) -> Identity:
        """Issue a certificate for a host, or for a client; with a password the key is encrypted."""
        key = ec.generate_private_key(ec.SECP256R1())
        identity = Identity(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        identity.certificate.write_bytes(self._signed(_subject(name), key, host=host, is_expired=is_expired))
        encryption = (
            serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        )
        identity.key.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        )
        return identity

    def server_context(self, host: str = "127.0.0.1", *, needs_client: bool = False) -> ssl.SSLContext:
        """Return the context of a server, which may ask for certificates of this authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        identity = self.issue(f"server-{host}", host)
        context.load_cert_chain(identity.certificate, identity.key)
        if needs_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.file)
        return context

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        *,
        is_authority: bool = False,
        host: str = "",
        is_expired: bool = False,
    ) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(_subject(self.name))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY * (3 if is_expired else 1))
            .not_valid_after(now - _DAY if is_expired else now + _DAY)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if host:
            usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            names = x509.SubjectAlternativeName([_host(host)])
            builder = builder.add_extension(names, critical=False)
            builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host)
