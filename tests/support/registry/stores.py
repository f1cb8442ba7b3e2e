"""Key and trust stores as people make them: by the JDK's own keytool, and by openssl."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.registry.certificates import Authority, Identity

PASSWORD = "store-pa$$ word"
KEY_PASSWORD = "key-password-1"


@dataclass(frozen=True)
class StoreFiles:
    """Stores of one authority and of one client of it, in ``folder``; the client's is the alias ``client``.

    The password of all is ``PASSWORD``; that of the key in ``keys.jks`` is ``KEY_PASSWORD``.
    """

    folder: Path
    authority: Authority
    client: Identity

    @classmethod
    def make(cls, folder: Path) -> StoreFiles:
        """Make all stores: 2 s, as each is a process of Java."""
        authority = Authority(folder)
        made = cls(folder, authority, authority.issue("client"))
        made._make_keys("keys-openssl.p12")
        made._make_keys("keys-legacy.p12", "-legacy")
        made.trust("trust.jks", "JKS")
        made.trust("trust.p12", "PKCS12")
        from_openssl = ("-srckeystore", str(folder / "keys-openssl.p12"), "-srcstorepass", PASSWORD)
        names = ("-srcalias", "client", "-destalias", "client")
        made.keytool(
            "-importkeystore", *from_openssl, *names, "-destkeypass", KEY_PASSWORD, store="keys.jks", kind="JKS"
        )
        made.keytool("-importkeystore", *from_openssl, store="keys.p12", kind="PKCS12")
        return made

    def trust(self, name: str, kind: str, *more: str, alias: str = "ca") -> Path:
        """Import the authority's certificate into a store."""
        file = str(self.authority.file)
        return self.keytool("-importcert", "-noprompt", "-alias", alias, "-file", file, *more, store=name, kind=kind)

    def keytool(self, *arguments: str, store: str, kind: str) -> Path:
        """Run keytool on a store."""
        verb, *rest = arguments
        place = (
            ("-deststoretype", kind, "-destkeystore")
            if verb == "-importkeystore"
            else ("-storetype", kind, "-keystore")
        )
        secret = "-deststorepass" if verb == "-importkeystore" else "-storepass"
        path = self.folder / store
        command = ["keytool", verb, *rest, *place, str(path), secret, PASSWORD]
        run(command)
        return path

    def _make_keys(self, name: str, *more: str) -> None:
        files = [
            "-in",
            str(self.client.certificate),
            "-inkey",
            str(self.client.key),
            "-certfile",
            str(self.authority.file),
        ]
        out = ["-name", "client", "-passout", f"pass:{PASSWORD}", "-out", str(self.folder / name)]
        run(["openssl", "pkcs12", "-export", *more, *files, *out])


def run(command: list[str]) -> None:
    """Run a command, with its output in the error if it fails."""
    program = shutil.which(command[0])
    assert program is not None, f"no {command[0]} on PATH"
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
