"""Which settings are secrets, how they are shown, and the references that stand for them.

One predicate decides everywhere (repr, messages, the check, XCom, params). It errs on the side of hiding: a harmless
setting shown as hidden costs a look into the file, a secret shown costs the secret.
"""

import re
from collections.abc import Mapping

HIDDEN = "<hidden>"

_SECRET_KEY = re.compile(
    r"""
      pass(word|wd|phrase|code) | (^|[-._])pwd($|[-._]) | secret | token | credential | private | jaas
    | authorization | cookie | signature | (^|[-._])sas($|[-._]) | keytab
    | (access|api|account|shared|encryption|master)[-._]?key | ((?<!\.include)[-._]|^)key$ | (^|[-._])pem$
    | connection[-._]?string | user[-._]?info | userinfo
    | sasl\.username | sasl\.oauthbearer\.(config|assertion)
    | (^|\.)header\.(?!converter)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SECRET_VALUE = re.compile(
    r"""
      ://\S*@ | (password|passwd|pwd|secret|token|sig|signature|credential|(api|access|account|shared)[-_]?key)\s*=
    | -----BEGIN
    """,
    re.IGNORECASE | re.VERBOSE,
)
# the form of Kafka Connect's own config providers, which a connector may not use: so no real value reads like it
_PROVIDER = re.compile(r"\$\{[^{}:]*:")
_SEARCHED_CHARACTERS = 4096
# shorter ones would be found in every other word
_SHORTEST_PART = 4


def is_secret(key: str, value: str = "") -> bool:
    """Whether a setting must not be shown: its key looks like a secret's, or its value carries one (user:password@)."""
    if len(key) > _SEARCHED_CHARACTERS or len(value) > _SEARCHED_CHARACTERS:
        return True  # the expressions are quadratic, and hiding is safe
    return bool(_SECRET_KEY.search(key) or _SECRET_VALUE.search(value))


def secret_parts(key: str, value: str) -> set[str]:
    """Cut a secret into the texts that must not be read anywhere: itself, and what an address or a pair carries.

    An address is quoted in pieces, by whoever fails to make sense of it. None for a setting that is no secret.
    """
    if not is_secret(key, value):
        return set()
    parts = {value}
    _, is_address, rest = value.partition("://")
    if is_address:
        login, _, rest = rest.rpartition("@")
        parts |= {login, *re.split(r"[:@]", login)[1:], *re.findall(r"[?&;][^=&;]*=([^&;]*)", rest)}
    else:
        parts |= set(value.split(":"))
    return {part for part in parts if len(part) >= _SHORTEST_PART}


def without_secrets(text: str, settings: Mapping[str, str]) -> str:
    """Hide what ``text``, usually a library's error, quotes of the secrets among ``settings``."""
    parts = {part for key, value in settings.items() for part in secret_parts(key, value)}
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, HIDDEN)
    return text


def shown(key: str, value: str) -> str:
    """The value for people to read, hidden if it is a secret."""
    return HIDDEN if is_secret(key, value) else value


def reference(key: str) -> str:
    """The text that stands for the secret of ``key`` where a configuration leaves the connector file."""
    return f"${{floe:{key}}}"


def is_reference(value: str) -> bool:
    """Whether ``value`` is a reference, floe's or a config provider's, rather than a value."""
    return bool(_PROVIDER.search(value))
