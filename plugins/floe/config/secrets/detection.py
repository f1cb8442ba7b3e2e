"""Which settings are secrets, which of their texts must not be shown, and the references that replace them.

One predicate decides everywhere (repr, messages, the check, XCom, params). In case of doubt it hides: a hidden harmless
setting can be read in the file, a shown secret is lost. Secrets that other libraries quote are hidden by
``floe.config.secrets.mask``.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from urllib.parse import unquote, unquote_plus, urlsplit

HIDDEN = "<hidden>"

_SECRET_KEY = re.compile(
    r"""
      pass(word|wd|phrase|code) | (^|[-._])(pwd($|[-._]) | (pass|pw|creds?)$) | secret | token | credential | private | jaas
    | authori[sz]ation | cookie | signature | (^|[-._])sas($|[-._]) | (^|[-._])sig$ | keytab | fernet
    | (access|api|account|shared|encryption|master)[-._]?key | ((?<!\.include)[-._]|^)key$ | (^|[-._])pem$
    | connection[-._]?string | user[-._]?info | userinfo
    | sasl\.username | sasl\.oauthbearer\.(config|assertion)
    | (^|\.)jdbc\.options$ | ^options$
    | (^|\.)header\.(?!converter) | (^|\.)request\.headers\.
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NO_SECRETS = (
    "basic.auth.credentials.source",
    "bearer.auth.credentials.source",
    *("token.endpoint", "token.endpoint.url", "token-endpoint", "token-endpoint-url", "token-endpoint-uri"),
    *("client.credentials-provider", "fs.s3a.aws.credentials.provider"),
    "adls.auth.shared-key.account.name",
)
"""Keys that look like those of secrets: kinds of credentials, addresses, names of accounts and of Java's classes."""
_IN_SECRET_KEYS = (
    *(
        "pass",
        "pw",
        "secret",
        "token",
        "cred",
        "private",
        "jaas",
        "authori",
        "cookie",
        "sig",
        "sas",
        "key",
        "fernet",
    ),
    *("pem", "connection", "user", "header", "options"),
)
"""One of them is in every key that the expression matches: a search for them takes a tenth of its time."""
_SECRET_VALUE = re.compile(
    r"""
      ^[^\s/:@]+:[^\s@]+@[^\s@]+$
    | (password|passwd|pwd|secret|token|sig|signature|credential|(api|access|account|shared)[-_]?key)\s*=
    | -----BEGIN | ^(basic|bearer)\s+\S
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
JWT = r"(?<![\w-])(?=[\w-]{11,}\.[\w.-])([\w-]*?)\beyJ[\w-]{8,}(?:\.[\w-]+|\.(?=\.[\w-])){1,4}"
"""A JSON web token, and the text before it in the same word. The word is read once, as texts may be long."""
_HAS_JWT = re.compile(JWT)
# the form of Kafka Connect's config providers: so no real value has it
_PROVIDER = re.compile(r"\$\{[^{}:]*:")
_SCHEMES = ("basic", "bearer")
_MAX_SCHEME_LENGTH = 6
_REFERENCE = re.compile(r"\$\{[^{}:]+:[^{}]*\}")
_MAX_KEY = 4096
_MAX_VALUE = 65_536
_MAX_LINES = 200
"""Lines of a secret that are hidden separately: more than a private key with its certificates has."""
_MAX_PARTS = 100
"""Passwords that are extracted from one value, and the parts of each."""

_MISSPELT = {"secret": 1, "token": 1, "password": 2, "passphrase": 2, "credential": 2, "authorization": 2}
"""Words of secrets, and how many letters of each may be wrong: a misspelt key contains a secret, too."""
_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+")

_BARE_ADDRESS = re.compile(r"^[^\s/:@]+:[^\s@]+@[^\s@]+$")
_AZURE_CONTAINER = re.compile(r"^(abfss?|wasbs?)://[a-z0-9$-]+@(?=[^@]*$)", re.IGNORECASE)
_QUERY = re.compile(r"\?[\w.-]+=")
_QUERY_PAIR = re.compile(r"[?&;]([\w.-]{1,100})=(?=([^;&]+))")
_BREAK = re.compile(r"[^\S ]+|[\0-\x1f\x7f]+|\\[nrtvf]")
"""What programs end a text at, and go on behind: all white space but a blank, as it is and as it is written."""
_USER_NAME = re.compile(r"user[-._]?name$", re.IGNORECASE)
_WITH_USER = re.compile(r"credential$|user[-._]?info$", re.IGNORECASE)
_SCHEME = re.compile(r"(basic|bearer|digest|token|apikey|negotiate)\s+(\S.*)", re.IGNORECASE | re.DOTALL)
_PAIR = re.compile(r"""(?<![\w.-])([\w.-]{1,100})\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;&]+)""", re.DOTALL)


def is_secret(key: str, value: str = "") -> bool:
    """Whether a setting must not be shown: its key looks like a secret's, or its value contains one (user:password@)."""
    # longer texts are not for people to read, and repeated searches in them are slow
    return len(key) > _MAX_KEY or len(value) > _MAX_VALUE or _carries_secret(key, value)


def _carries_secret(key: str, value: str) -> bool:
    value = _without_container(value)
    scheme = value.find("://")
    if scheme >= 0 and value.find("@", scheme) >= 0:
        return True
    if _is_secret_value(value):
        return True
    return not key.endswith(_NO_SECRETS) and (_is_secret_key(key) or any(map(_is_misspelt, _WORD.findall(key))))


def _is_secret_key(key: str) -> bool:
    low = key.lower()
    return (not key.isascii() or any(part in low for part in _IN_SECRET_KEYS)) and bool(_SECRET_KEY.search(key))


def _is_secret_value(value: str) -> bool:
    low = value[:_MAX_SCHEME_LENGTH].lower()
    if value.isascii() and "=" not in value and not ("@" in value and ":" in value) and not low.startswith(_SCHEMES):
        return "-----begin" in value.lower() or _has_web_token(value)
    return bool(_SECRET_VALUE.search(value)) or _has_web_token(value)


def _has_web_token(value: str) -> bool:
    return "eyJ" in value and _HAS_JWT.search(value) is not None


def secret_texts(key: str, value: str) -> frozenset[str]:
    """Split a secret into the texts that must not be shown: itself, and the secrets in an address, a pair or a header.

    Libraries that cannot parse an address quote parts of it. Empty for a setting that is not a secret, for a
    reference and for a boolean. Texts may be short.
    """
    if value.strip().lower() in ("", "true", "false") or _REFERENCE.fullmatch(value):
        return frozenset()
    if not _carries_secret(key, value):
        return frozenset()
    value = _without_container(value)
    found = set(islice((secret for name, secret in _pairs(value) if is_secret(name)), _MAX_PARTS))
    if "://" in value or _BARE_ADDRESS.search(value):
        found |= set(_address_texts(value))
    found |= {part for text in found for part in _parts(text)}
    if not found or is_secret(key):
        found |= set(_plain_texts(value))
    return frozenset(text for text in found if text)


def weakest_text(key: str, value: str) -> str:
    """Return the shortest password, token or key in a setting; "" for one that is not a secret, and for a user's name."""
    if not secret_texts(key, value) or _USER_NAME.search(key):
        return ""
    found = [secret for name, secret in islice(_pairs(value), _MAX_PARTS) if is_secret(name)]
    if "://" in value or _BARE_ADDRESS.search(value):
        found += [login.partition(":")[2] or login for login in _logins(value.partition("://")[2] or value)]
    elif not found and _WITH_USER.search(key):
        found = [value.partition(":")[2]]
    return min(filter(None, found), key=len, default=value.strip())


def shown(key: str, value: str) -> str:
    """The value for people to read, hidden if it is a secret."""
    return HIDDEN if is_secret(key, value) else value


def shown_address(address: str) -> str:
    """An address for people to read, without the login and the secrets in its query."""
    scheme, has_scheme, rest = address.partition("://")
    if _without_container(address) != address:
        return shown("", address)
    logins = list(_logins(rest))
    if logins:
        rest = f"{HIDDEN}@{rest.removeprefix(max(logins, key=len))[1:]}"
    secrets = {secret for name, secret in islice(_pairs(rest), _MAX_PARTS) if is_secret(name)}
    for secret in sorted(secrets, key=len, reverse=True):  # one may be the beginning of another
        rest = rest.replace(secret, HIDDEN)
    return f"{scheme}{has_scheme}{rest}" if has_scheme else shown("", address)


def reference(key: str) -> str:
    """The text that replaces the secret of ``key`` in a configuration outside the connector file."""
    return f"${{floe:{key}}}"


def is_reference(value: str) -> bool:
    """Whether ``value`` is a reference, floe's or a config provider's, rather than a value."""
    return bool(_PROVIDER.search(value))


# -- keys that were misspelt ------------------------------------------------------------------------------------------


@lru_cache(4096)
def _is_misspelt(word: str) -> bool:
    """Whether a word of a key is the name of a secret with one or two wrong letters."""
    low = word.lower()
    return any(
        abs(len(low) - len(right)) <= wrong and len(set(right) - set(low)) <= wrong and _distance(low, right) <= wrong
        for right, wrong in _MISSPELT.items()
    )


def _distance(a: str, b: str) -> int:
    """Count the letters to insert, drop, change or swap with their neighbour to turn ``a`` into ``b``."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, rows[i - 2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]


# -- texts of a value -------------------------------------------------------------------------------------------------


def _parts(text: str) -> list[str]:
    """Return the parts of a secret between line breaks: a library that was sent it whole may quote one of them."""
    found = [part.strip() for part in _BREAK.split(text, maxsplit=_MAX_LINES)]
    return [part for part in found if not part.startswith("-----")] if len(found) > 1 else []


def _plain_texts(value: str) -> Iterator[str]:
    """Yield a value that is a secret as a whole, its lines, the part after ``user:`` and the part after a header's scheme."""
    yield value
    yield value.strip()
    lines = value.replace("\\n", "\n").splitlines()  # Java's PEM texts have line ends as two characters
    yield from (line.strip() for line in lines[:_MAX_LINES] if not line.startswith("-----"))
    yield value.partition(":")[2].strip()
    header = _SCHEME.match(value.strip())
    if header:
        yield header[2]
        yield from header[2].split()
        with_user = _decoded(header[2].strip()) if header[1].lower() == "basic" else ""
        yield with_user
        yield with_user.partition(":")[2]


def _address_texts(value: str) -> Iterator[str]:
    """Yield the login texts in an address: the password, whole and cut where parsers cut it, as given and unquoted."""
    rest = value.partition("://")[2] or value
    address = _without_query(rest)
    if "@" in rest[len(address) :]:  # then it may also be the password's
        yield rest.rpartition("@")[0].partition(":")[2]
    for login in _logins(address):
        _, has_password, password = login.partition(":")
        secret = password if has_password else login
        yield f"{login}@"  # also if the password alone is too short to be distinguished from other text
        for text in (secret, unquote(secret), unquote_plus(secret)):
            yield text
            for part in re.split(r"[:@/?#]", text, maxsplit=_MAX_PARTS):
                yield part
                yield part.lower()  # as a host, if a parser reads the address differently


def _without_container(value: str) -> str:
    """Return a location without Azure's container, which is no login although an ``@`` ends it."""
    return _AZURE_CONTAINER.sub(r"\1://", value, count=1)


def _without_query(rest: str) -> str:
    """Return an address without what looks like its query, if there is a login before it."""
    query = _QUERY.search(rest, rest.find("@") + 1) if "@" in rest else None
    return rest[: query.start()] if query else rest


def _logins(rest: str) -> Iterator[str]:
    """Yield each text before an ``@`` that may be the login of an address without its scheme, the most likely one first.

    A password may contain ``@``, ``/``, ``?`` and ``#`` although they must be quoted. Then the address has more than one
    reading.
    """
    authority = urlsplit(f"//{rest}", allow_fragments=True).netloc if _is_splittable(rest) else ""
    standard, has_login, _ = authority.rpartition("@")
    if has_login:
        yield standard
    last, has_at, _ = rest.rpartition("@")
    if has_at and last != standard and ":" in re.split(r"[/?#]", last, maxsplit=1)[0]:
        yield last


def _is_splittable(rest: str) -> bool:
    try:
        urlsplit(f"//{rest}")
    except ValueError:  # brackets that are not an IPv6 address
        return False
    return True


def _pairs(value: str) -> Iterator[tuple[str, str]]:
    """Yield ``name=value`` of a query, of JAAS or of a connection string, as given and unquoted.

    A query is read again by itself: a password before it may contain ``=``, and be read as a name.
    """
    for match in chain(_PAIR.finditer(value), islice(_QUERY_PAIR.finditer(value), _MAX_PARTS)):
        text = match[2].strip("\"'")
        ends_early = re.split("[,\"']", text, maxsplit=1)[0]
        spelled = {text, ends_early, unquote(text), unquote_plus(text), re.sub(r"\\(.)", r"\1", text)}
        yield from ((match[1], one) for one in spelled)


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def environment_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment as settings, named as connectors name them: ``PYICEBERG_CATALOG__X__TOKEN`` has a token."""
    return {name.lower().replace("__", ".").replace("_", "-"): value for name, value in environ.items()}
