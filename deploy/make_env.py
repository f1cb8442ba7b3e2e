"""Write ``.env`` for docker-compose.yaml: the example with random values where it leaves them empty.

``python3 deploy/make_env.py [FILE]``; the file is readable by its owner only, and one that is there is left alone.
"""

from __future__ import annotations

import base64
import os
import secrets
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE / ".env.example"
TARGET = HERE.parent / ".env"


def filled(example: str) -> str:
    """Return the text of the example with a fresh value for each variable that it leaves empty."""
    lines = [f"{line}{_fresh(line[:-1])}" if _is_empty(line) else line for line in example.splitlines()]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the file; 1 if it is there already."""
    target = Path(arguments[0]) if arguments else TARGET
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        print(f"error: {target} is there: its secrets are in use, so it is left alone", file=sys.stderr)
        return 1
    with os.fdopen(descriptor, "w") as stream:
        stream.write(filled(EXAMPLE.read_text()))
    print(f"wrote {target}")
    return 0


def _is_empty(line: str) -> bool:
    return line.endswith("=") and not line.startswith("#")


def _fresh(name: str) -> str:
    if name == "AIRFLOW_FERNET_KEY":
        return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
    if name == "KAFKA_CLUSTER_ID":
        # the first byte is kept from becoming a dash, which Kafka's tools would read as an option
        return base64.urlsafe_b64encode(b"\x00" + secrets.token_bytes(15)).decode().rstrip("=")
    return secrets.token_hex(24)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
