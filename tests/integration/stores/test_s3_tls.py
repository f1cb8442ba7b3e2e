"""An S3 endpoint whose certificate is of a private CA: Arrow takes the CA from SSL_CERT_FILE, as the page of stores says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stack.progress import wait_until
from stack.settings import LOOPBACK, free_port

READ = """
import sys
from pyiceberg.io.pyarrow import PyArrowFileIO
io = PyArrowFileIO({"s3.endpoint": sys.argv[1], "s3.region": "eu-west-1", "s3.access-key-id": "a",
                    "s3.secret-access-key": "b", "s3.connect-timeout": "5", "s3.request-timeout": "5"})
try:
    print(io.new_input("s3://no-such-bucket/file").exists())
except OSError as error:
    print(error)
"""


def openssl(folder: Path, *command: str) -> None:
    subprocess.run(["openssl", *command], cwd=folder, capture_output=True, check=True)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a store with TLS, and the file of its CA."""
    folder, port = tmp_path_factory.mktemp("tls"), free_port()
    (folder / "names").write_text(f"subjectAltName=IP:{LOOPBACK}\n")
    new = ("-newkey", "rsa:2048", "-nodes")
    openssl(folder, "req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=ca")
    openssl(folder, "req", *new, "-keyout", "s.key", "-out", "s.csr", "-subj", f"/CN={LOOPBACK}")
    signed = ("-in", "s.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    openssl(folder, "x509", "-req", *signed, "-out", "s.pem")
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(port), "-s", "-c", "s.pem"]
        process = subprocess.Popen([*command, "-k", "s.key"], cwd=folder, stdout=log, stderr=log)
    try:
        assert wait_until(lambda: b"Running on" in (folder / "log").read_bytes(), 60)
        yield f"https://{LOOPBACK}:{port}", folder / "ca.pem"
    finally:
        process.terminate()
        process.wait(10)


def read(endpoint: str, **environment: str) -> str:
    clean = {k: v for k, v in os.environ.items() if k not in ("SSL_CERT_FILE", "SSL_CERT_DIR")}
    command = [sys.executable, "-c", READ, endpoint]
    done = subprocess.run(
        command, env={**clean, **environment}, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.strip()


def test_private_ca_is_taken_from_ssl_cert_file(secured: tuple[str, Path]) -> None:
    endpoint, ca = secured
    assert "SSL" in read(endpoint)
    assert read(endpoint, SSL_CERT_FILE=str(ca)) == "False"
