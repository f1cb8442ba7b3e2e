"""Addresses of registries and of token endpoints, as people write them."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from floe.config.keys.option_reader import OptionReader
from floe.config.keys.values import parse_list
from floe.config.registry.settings import Address, Login
from floe.config.secrets.detection import is_reference, shown_address

_SCHEMES = ("http", "https")


def read_addresses(options: OptionReader, *names: str) -> tuple[Address, ...]:
    """Read one address or several with commas between; one at least is needed."""
    key = options.key(*names)
    if key is None:
        options.miss(f"{options.prefix}{names[0]} is not given: set it to the address of the schema registry")
        return ()
    found = [_address(options, key, part) for part in parse_list(options.options[key])]
    return tuple(address for address in found if address is not None)


def read_url(options: OptionReader, *names: str) -> str:
    """Read an address without a login; "" if it is not given."""
    key = options.key(*names)
    address = _address(options, key, options.options[key].strip()) if key else None
    if address is not None and address.login is not None:
        options.refuse(key, "the address has a login: give user and secret by their own options")
    return address.url if address else ""


def read_login(options: OptionReader, key: str) -> Login:
    """Read ``user:password``."""
    text = options.options[key].strip()
    user, has_password, password = text.partition(":")
    if not (has_password and user) and not is_reference(text):
        options.refuse(key, "write it as user:password")
    return Login(user, password, key)


def read_proxy(options: OptionReader, namespace: str = "") -> tuple[str, int] | None:
    """Read ``proxy.host`` and ``proxy.port``; Java's default of the port, -1, means that there is no proxy.

    ``namespace``: before both names.
    """
    names = f"{namespace}proxy.host", f"{namespace}proxy.port"
    host, has_port = options.text(names[0]), options.text(names[1]) not in ("", "-1")
    port = int(options.number(names[1], 0, 65_535, 1)) if has_port else 0
    if bool(host) != has_port:
        options.refuse(None, f"{options.prefix}{names[0]} and {names[1]}: give both, or neither")
    return (host, port) if host and port else None


def _address(options: OptionReader, key: str, text: str) -> Address | None:
    if is_reference(text):
        return Address(text)
    why = _problem(text)
    if why:
        options.refuse(key, f"{shown_address(text)[:200]!r} {why}")
        return None
    parts = urlsplit(text)
    server = parts.netloc.rpartition("@")[2]
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    login = Login(user, password, key) if "@" in parts.netloc else None
    return Address(f"{parts.scheme}://{server}{parts.path.rstrip('/')}", login)


def _problem(text: str) -> str | None:
    """Return why a text is no address of a server."""
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return "is no address: write http:// or https://, the host, and the port"
    if not text.isascii() or not text.isprintable() or " " in text:
        return "has characters that no address has: write them as %XX"
    if parts.scheme not in _SCHEMES or not has_host:
        return "is no address: write http:// or https://, the host, and the port"
    if parts.query or parts.fragment:
        return "has a query or a fragment: write the address without it"
    return None
