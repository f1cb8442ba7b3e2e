"""Key and trust stores made by the JDK's keytool and by openssl, read, and used with a server on loopback."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.schema_registry.client import SchemaRegistry
from floe.schema_registry.exceptions import RegistryMisconfigured, RegistryUnreachable
from floe.tls.store_file import StoreFile, StoreUnusable
from floe.tls.stores import identity, trusted_certificates
from tests.support.registry.certificates import Authority
from tests.support.registry.double import schema, serving
from tests.support.registry.settings import settings
from tests.support.registry.stores import KEY_PASSWORD, PASSWORD, StoreFiles

TRUST = "value.converter.schema.registry.ssl.truststore.location"
KEYS = "value.converter.schema.registry.ssl.keystore.location"
TRUST_STORES = ("trust.jks", "trust.p12")
KEY_STORES = ("keys.jks", "keys.p12", "keys-openssl.p12", "keys-legacy.p12")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> StoreFiles:
    return StoreFiles.make(tmp_path_factory.mktemp("stores"))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of temporary files, which is empty again afterwards."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def ask(url: str, **options: str) -> None:
    SchemaRegistry(settings(url, max_retries="0", **options)).schema(1)


def store_options(stores: StoreFiles, which: str, name: str, password: str = PASSWORD) -> dict[str, str]:
    prefix = f"schema_registry_ssl_{which}_"
    return {f"{prefix}location": str(stores.folder / name), f"{prefix}password": password}


def said_of(store: StoreFile, key_password: str | None = None) -> str:
    with pytest.raises(StoreUnusable) as caught:
        trusted_certificates(store) if key_password is None else identity(store, key_password)
    said = str(caught.value)
    assert said.startswith(f"{store.option} {store.path!r}: ")
    assert PASSWORD not in said and "wrong-one" not in said and KEY_PASSWORD not in said
    return said


@pytest.mark.parametrize("name", TRUST_STORES)
def test_trust_store_gives_its_certificate(stores: StoreFiles, name: str) -> None:
    found = trusted_certificates(StoreFile(str(stores.folder / name), PASSWORD))
    assert found == stores.authority.file.read_text()


@pytest.mark.parametrize("name", KEY_STORES)
def test_key_store_gives_chain_and_key(stores: StoreFiles, name: str) -> None:
    found = identity(StoreFile(str(stores.folder / name), PASSWORD, KEYS), KEY_PASSWORD)
    assert found.certificates == stores.client.certificate_text + stores.authority.file.read_text()
    assert (found.key, found.key_password) == (stores.client.key_text, "")
    assert found.key not in repr(found)


def test_key_store_trusts_only_own_certificate(stores: StoreFiles) -> None:
    found = trusted_certificates(StoreFile(str(stores.folder / "keys.jks"), PASSWORD))
    assert found == stores.client.certificate_text


def test_jks_without_password_is_read_unchecked(stores: StoreFiles) -> None:
    assert trusted_certificates(StoreFile(str(stores.folder / "trust.jks"))) == stores.authority.file.read_text()


@pytest.mark.parametrize("name", TRUST_STORES)
def test_wrong_password_names_its_option(stores: StoreFiles, name: str) -> None:
    said = said_of(StoreFile(str(stores.folder / name), "wrong-one", TRUST))
    assert "password is wrong" in said and "ssl.truststore.password" in said


def test_pkcs12_without_password_names_option(stores: StoreFiles) -> None:
    said = said_of(StoreFile(str(stores.folder / "trust.p12"), "", TRUST))
    assert "it needs a password: set value.converter.schema.registry.ssl.truststore.password" in said


@pytest.mark.parametrize("key_password", ["", "wrong-one"])
def test_wrong_key_password_names_its_option(stores: StoreFiles, key_password: str) -> None:
    said = said_of(StoreFile(str(stores.folder / "keys.jks"), PASSWORD, KEYS), key_password)
    assert "private key is wrong: set value.converter.schema.registry.ssl.key.password" in said


def test_missing_file_is_named(tmp_path: Path) -> None:
    said = said_of(StoreFile(str(tmp_path / "none.jks"), PASSWORD, TRUST))
    assert "No such file" in said and "every machine that connects" in said


def test_folder_and_pipe_are_no_stores(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "null\0"):
        said_of(StoreFile(str(path), PASSWORD, TRUST))


def test_store_without_certificate_is_named(stores: StoreFiles) -> None:
    assert "it has no certificate" in said_of(StoreFile(str(stores.client.key), "", TRUST))


@pytest.mark.parametrize("name", TRUST_STORES)
def test_key_store_without_key_is_named(stores: StoreFiles, name: str) -> None:
    assert "it has no private key" in said_of(StoreFile(str(stores.folder / name), PASSWORD, KEYS), "")


@pytest.mark.parametrize("kind", ["jks", "p12"])
def test_key_store_with_two_keys_is_named(stores: StoreFiles, kind: str) -> None:
    source = ("-srckeystore", str(stores.folder / "keys.p12"), "-srcstorepass", PASSWORD)
    shutil.copy(stores.folder / f"keys.{kind}", stores.folder / f"two.{kind}")
    names = ("-srcalias", "client", "-destalias", "two")
    store_type = {"jks": "JKS", "p12": "PKCS12"}[kind]
    stores.keytool("-importkeystore", "-noprompt", *source, *names, store=f"two.{kind}", kind=store_type)
    said = said_of(StoreFile(str(stores.folder / f"two.{kind}"), PASSWORD, KEYS), "")
    assert "it has 2 private keys: leave one in it" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "none of the types JKS, PKCS12, PEM"),
        (b"no store", "none of the types"),
        (b"\xce\xce\xce\xce" + bytes(40), "its type is JCEKS"),
        (b"\x30\x03\x02\x01\x03", "a certificate by itself is no store"),
        (b"0 is first\n-----BEGIN CERTIFICATE-----\n\xe9\n-----END CERTIFICATE-----\n", "byte 0xe9 in a block of PEM"),
        (b"\xfe\xed\xfe\xed" + bytes(40), "version 0"),
        (b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1" + bytes(20), "ends within an entry"),
        (b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1\0\0\0\3\0\0" + bytes(28), "unknown kind 3"),
    ],
)
def test_other_content_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "store"
    file.write_bytes(content)
    assert said in said_of(StoreFile(str(file), "", TRUST))


@given(st.data())
def test_damaged_store_raises_nothing_else(stores: StoreFiles, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([*TRUST_STORES, *KEY_STORES]))
    content = bytearray((stores.folder / name).read_bytes())
    for at in data.draw(st.lists(st.integers(4, len(content) - 1), max_size=3)):
        content[at] = data.draw(st.integers(0, 255))
    file = stores.folder / "damaged"
    file.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    for password in ("", PASSWORD):
        for read in (trusted_certificates, identity):
            try:
                read(StoreFile(str(file), password))
            except StoreUnusable:
                continue


@pytest.mark.parametrize("name", TRUST_STORES)
def test_server_is_trusted_by_store(stores: StoreFiles, name: str) -> None:
    with serving(schema(), stores.authority.server_context()) as double:
        ask(double.url, **store_options(stores, "truststore", name))


@pytest.mark.parametrize("name", TRUST_STORES)
def test_other_server_is_not_trusted_by_store(stores: StoreFiles, name: str, tmp_path: Path) -> None:
    context = Authority(tmp_path, "other").server_context()
    with serving(schema(), context) as double, pytest.raises(RegistryMisconfigured, match="not trusted"):
        ask(double.url, **store_options(stores, "truststore", name))


def test_server_is_trusted_by_its_own_certificate(stores: StoreFiles) -> None:
    context = stores.authority.server_context()
    own = ("-alias", "server", "-file", str(stores.folder / "server-127.0.0.1.crt"))
    stores.keytool("-importcert", "-noprompt", *own, store="server.jks", kind="JKS")
    with serving(schema(), context) as double:
        ask(double.url, **store_options(stores, "truststore", "server.jks"))


@pytest.mark.parametrize("name", KEY_STORES)
def test_client_identifies_itself_by_store(stores: StoreFiles, name: str, temporary: Path) -> None:
    trust = store_options(stores, "truststore", "trust.jks")
    with serving(schema(), stores.authority.server_context(needs_client=True)) as double:
        keys = store_options(stores, "keystore", name) | {"schema_registry_ssl_key_password": KEY_PASSWORD}
        ask(double.url, **trust, **keys)
        with pytest.raises((RegistryMisconfigured, RegistryUnreachable)):
            ask(double.url, **trust)


def test_key_that_fits_no_certificate_leaves_nothing(stores: StoreFiles, tmp_path: Path, temporary: Path) -> None:
    other = Authority(tmp_path, "another").issue("other")
    mixed = tmp_path / "mixed.pem"
    mixed.write_text(stores.client.certificate_text + other.key_text)
    with pytest.raises(RegistryMisconfigured, match=r"mixed\.pem', cannot be used"):
        ask("https://127.0.0.1:1", schema_registry_ssl_keystore_location=str(mixed))


def test_wrong_password_is_the_registrys_error(stores: StoreFiles) -> None:
    with pytest.raises(RegistryMisconfigured, match=r"ssl\.truststore\.location .*password is wrong") as caught:
        ask("https://127.0.0.1:1", **store_options(stores, "truststore", "trust.p12", "wrong-one"))
    assert "Nothing was asked of the registry" in str(caught.value) and "wrong-one" not in str(caught.value)


def test_passwords_of_stores_are_secrets(stores: StoreFiles) -> None:
    options = store_options(stores, "truststore", "trust.jks") | store_options(stores, "keystore", "keys.jks")
    found = settings("https://registry", **options)
    assert list(found.secrets().values()) == [PASSWORD, PASSWORD] and PASSWORD not in repr(found)
