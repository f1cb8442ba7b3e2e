"""What the operator lets connectors made by REST name: hosts and connections. All else that reaches further is refused.

The API server checks a configuration when it is sent. The DAG processor and the tasks check it again, as Airflow's
Variables can also be edited elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from floe.config.catalogs.catalog_types import TYPES
from floe.config.converters.converter_classes import CONVERTERS
from floe.config.exceptions import MAX_SHOWN_PROBLEMS
from floe.config.extensions import Registry
from floe.config.kafka.jaas import JaasUnusable, read_entry
from floe.config.keys.lookup import names_code
from floe.config.keys.values import parse_list
from floe.config.providers.reference import is_late, providers_in
from floe.config.secrets.detection import is_reference, is_secret, shown_address
from floe.config.secrets.logins import ADDRESS
from floe.config.sections.dag import KEYS as CALLBACKS
from floe.config.transforms.kafka_records import PREDICATES
from floe.config.transforms.transform_classes import TRANSFORMS

# The hosts that a connector made by REST may name, and the only form of address that is compared with them.


VARIABLE: Final = "FLOE_REST_HOSTS"

_ADDRESS: Final = re.compile(
    r"""
    (?:(?P<scheme>(?:jdbc:)?[A-Za-z][A-Za-z0-9+._-]*)://)?
    (?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])
    (?::(?P<port>[0-9]{1,5}))?
    (?P<path>/[A-Za-z0-9._~/:=+-]*)?
    """,
    re.VERBOSE | re.ASCII,
)
_PORTS: Final = {"http": "80", "https": "443"}
_NO_HOST: Final = ("file", "sqlite")


@dataclass(frozen=True)
class ListedAddress:
    """The parts of an address; in lower case, but for ``path``. An address with a login or a query is none."""

    scheme: str
    host: str
    port: str
    path: str

    @classmethod
    def of(cls, text: str) -> ListedAddress | None:
        found = _ADDRESS.fullmatch(text)
        if found is None or ".." in (found["path"] or ""):
            return None
        scheme = (found["scheme"] or "").lower()
        if scheme.removeprefix("jdbc:").partition("+")[0] in _NO_HOST:
            return None
        return cls(scheme, found["host"].lower(), found["port"] or _PORTS.get(scheme, ""), found["path"] or "")


@dataclass(frozen=True)
class HostPattern:
    """One entry of the list: ``host``, ``host:port`` or ``scheme://host:port``; ``*`` in a host and as a port is any.

    Without a port: that of http or https, else any.
    """

    scheme: str
    host: str
    port: str

    @classmethod
    def of(cls, text: str) -> HostPattern:
        scheme, has_scheme, rest = text.strip().lower().rpartition("://")
        host, has_port, port = rest.rpartition(":")
        if not has_port or rest.endswith("]"):
            host, port = rest, ""
        scheme = scheme if has_scheme else ""
        return cls(scheme, host, "" if port == "*" else port or _PORTS.get(scheme, ""))

    def allows(self, address: ListedAddress) -> bool:
        """Whether an address is of this entry."""
        return (
            self.scheme in ("", address.scheme)
            and fnmatchcase(address.host, self.host.replace("[", "[[]"))
            and self.port in ("", address.port)
        )


@dataclass(frozen=True)
class HostList:
    """The entries of ``FLOE_REST_HOSTS``; without any, no address is allowed."""

    patterns: tuple[HostPattern, ...] = ()

    @classmethod
    def of(cls, text: str) -> HostList:
        """Read entries with commas between."""
        return cls(tuple(HostPattern.of(part) for part in text.split(",") if part.strip()))

    def problem(self, text: str) -> str | None:
        """Return why a list of addresses is not allowed; None if each of them is."""
        for part in text.split(","):
            address = ListedAddress.of(part.strip())
            if address is None:
                shown = shown_address(part.strip())[:_SHOWN]
                return (
                    f"{shown!r} is no address that a connector made by REST may name: it is written "
                    "scheme://host:port/path, without a login and a query"
                )
            if not any(pattern.allows(address) for pattern in self.patterns):
                return f"{part.strip()[:_SHOWN]!r} is not in {VARIABLE} of Airflow's environment: the operator adds it there"
        return None


SWITCH: Final = "FLOE_REST_CONNECTORS"
CONNECTIONS: Final = "FLOE_REST_CONNECTIONS"

_CATALOG: Final = "iceberg.catalog"
_PATH_KEY: Final = re.compile(
    r"(^|[._-])(locations?|paths?|files?|filename|dirs?|directory|folder|keytab|keystore|truststore|warehouse|ticket)$",
    re.IGNORECASE,
)
_REFUSED_KEY: Final = re.compile(
    r"(^|[._-])(cmd|command|jars?|packages|classpath|keytab|connection[._-]string|configuration[._-]file)([._-]|$)",
    re.IGNORECASE,
)
_ACCOUNT_KEYS: Final = (
    f"{_CATALOG}.adls.account-name",
    f"{_CATALOG}.adls.auth.shared-key.account.name",
)
"""Keys with a name that is a host of Azure's: a login goes there."""

_OF_FILES: Final = ("floe.dag.access-control", "floe.dag.pool", "floe.dag.queue", "floe.dag.priority-weight")
"""Keys by which a connector would give its maker more than the right to make it."""

_FREE_KEY: Final = re.compile(
    r"(^|[._-])(password|passphrase|secret|token|access[._-]key([._-]id)?|secret[._-](access[._-])?key|credentials?|user[._-]info"
    r"|username|user|login)$",
    re.IGNORECASE,
)
"""Keys whose values are any text, which nothing opens."""

_PATH: Final = re.compile(r"""(^|[\s,;="'(])(/|~|\.\.?/|\\\\|[A-Za-z]:[\\/]|file:|classpath:)""", re.IGNORECASE)

_IDENTITIES: Final = (
    (re.compile(r"(^|[._-])profile[._-]name$", re.IGNORECASE), "aws-profile"),
    (re.compile(r"(^|[._-])(role|assume[._-]role)[._-]arn$", re.IGNORECASE), "aws-role"),
    (re.compile(r"(^|[._-])service[._-]account$", re.IGNORECASE), "gcp-service-account"),
    (re.compile(r"(^|[._-])hdfs[._-]user$", re.IGNORECASE), "hdfs-user"),
    (re.compile(r"(^|[._-])ugi$", re.IGNORECASE), "hive-user"),
    (re.compile(r"(^|[._-])kerberos[._-]principal$", re.IGNORECASE), "kerberos-principal"),
)
"""Keys that choose whom the workers act as, without a secret, and how the operator lists what they choose."""

_AMBIENT: Final = (
    (
        re.compile(r".*\.rest\.auth\.(type|sigv4\.delegate-auth-type)"),
        re.compile(r"google|.*GoogleAuthManager", re.IGNORECASE),
        "gcp-identity",
    ),
    (re.compile(r".*sasl\.mechanisms?"), re.compile("GSSAPI", re.IGNORECASE), "kerberos-identity"),
    (re.compile(r".*metadata\.authentication\.type"), re.compile("azure.*", re.IGNORECASE), "azure-identity"),
    (re.compile(r".*sasl\.mechanisms?"), re.compile("AWS_MSK_IAM", re.IGNORECASE), "aws-identity"),
)
"""Logins as the workers themselves: key, value, and the name in the operator's list, followed by ``:default``."""

_GOOGLES_HOST: Final = "gcs.service.host"
_AZURES_HOSTS: Final = ("adls.blob-storage-authority", "adls.dfs-storage-authority")
_EXTENSION: Final = "extension"
_NAMING: Final[tuple[tuple[re.Pattern[str], Registry[Any]], ...]] = (
    (re.compile(r"(key|value|header)\.converter"), CONVERTERS),
    (re.compile(r"transforms\..+\.type", re.DOTALL), TRANSFORMS),
    (re.compile(r"predicates\..+\.type", re.DOTALL), PREDICATES),
    (re.compile(r"iceberg\.catalog\.(type|catalog-impl)"), TYPES),
)
"""Keys whose values may be names of extensions."""

_POSTGRESQL: Final = ("postgresql", "jdbc:postgresql")
_ENTRA: Final = ("adls.client-id", "adls.client-secret", "adls.tenant-id")
"""The login that counts for each account at Azure: a key or a SAS token is for one, and tables may be at another."""

_OF_MSK: Final = re.compile(r"aws(?P<kind>ProfileName|RoleArn)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s;]+)", re.IGNORECASE)
_OF_S3: Final = re.compile(r"(s3|client)\.(profile-name|role-arn|assume-role\.arn)")
_HADOOP: Final = "iceberg.hadoop.fs.s3a."
_REGIONS: Final = ("{}.region", "client.region")

_SHOWN: Final = 200
_MAX_PROBLEMS: Final = MAX_SHOWN_PROBLEMS - 1
_NO_PATH: Final = "names a file or folder, which a connector made by REST may not"
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_:-]*(\.[A-Za-z0-9_-]+)*")


@dataclass(frozen=True)
class OperatorLists:
    """The operator's switch and lists, from the environment of an Airflow process."""

    is_enabled: bool = False
    hosts: HostList = HostList()
    connections: tuple[str, ...] = ()

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> OperatorLists:
        """Read the lists; nothing is allowed by default."""
        return cls(
            environ.get(SWITCH, "").strip().lower() == "true",
            HostList.of(environ.get(VARIABLE, "")),
            parse_list(environ.get(CONNECTIONS, "")),
        )

    def problems(self, name: str, config: Mapping[str, str]) -> list[str]:
        """Return what the connector ``name`` may not have, a line each with key and value."""
        kind = TYPES.own.get(config.get(f"{_CATALOG}.type", "").strip().lower())
        logical = kind is not None and kind.warehouse in ("name", "either")
        found: list[str] = []
        for key, value in config.items():
            if len(found) == _MAX_PROBLEMS:
                found.append("more keys were not looked at: correct these first")
                break
            if (why := self.problem(name, key, value, is_logical=logical)) is not None:
                shown = "" if is_secret(key, value) else f" {value[:_SHOWN]!r}"
                found.append(f"{key[:_SHOWN]}{shown}: {why}")
        return [*found, *self._default_hosts(config), *self._ambient_logins(config), *self._extensions(config)]

    def problem(self, name: str, key: str, value: str, *, is_logical: bool = False) -> str | None:
        """Return why a key of the connector ``name`` may not have a value; None if it may.

        ``is_logical``: the catalog has names of warehouses, not only addresses.
        """
        if is_reference(value) or providers_in(value):
            return _reference_problem(name, key, value)
        return next(self._problems(key, value.strip(), is_logical), None)

    def _problems(self, key: str, value: str, is_logical: bool) -> Iterator[str]:
        if not value:
            return
        if _REFUSED_KEY.search(key):
            yield "a connector made by REST may not have this key, as it leads to files or commands of the workers"
        if key.startswith(_OF_FILES):
            yield "rights and places in Airflow are given by connector files only"
        if names_code(key, value) and key not in CALLBACKS:  # whose modules the operator lists
            yield "the value names code, which a connector made by REST may not: code is for connector files and operators"
        yield from self._unlisted(key, value)
        yield from self._identities(key, value)
        if not _FREE_KEY.search(key):
            yield from self._places(key, value, is_logical)

    def _places(self, key: str, value: str, is_logical: bool) -> Iterator[str]:
        """Yield the hosts that are not listed, and files."""
        if (login := _login_options(key, value)) is not None:
            for option, text in login.items():
                yield from (f"{option[:_SHOWN]}: {why}" for why in self._problems(option, text, is_logical))
            return
        address = f"{value}.dfs.core.windows.net" if key in _ACCOUNT_KEYS else value
        is_named = is_logical and key.endswith("warehouse") and _PLAIN.fullmatch(value)
        if key in _ACCOUNT_KEYS or ADDRESS.search(key) or "://" in value:
            why = self.hosts.problem(address)
            if why is not None:
                yield why
        elif (_PATH_KEY.search(key) and not is_named) or ("-----BEGIN" not in value and _is_path(key, value)):
            yield _NO_PATH

    def _unlisted(self, key: str, value: str) -> Iterator[str]:
        if not (key == _CATALOG or "conn-id" in key):
            return
        for one in parse_list(value):
            if not any(fnmatchcase(one, pattern) for pattern in self.connections):
                what = "catalog" if key == _CATALOG else "connection"
                yield f"the {what} {one[:_SHOWN]!r} is not in {CONNECTIONS} of Airflow's environment: ask its operator"

    def _identities(self, key: str, value: str) -> Iterator[str]:
        """Yield the identities that a key chooses, and that the operator does not list: each is one of the workers'."""
        found = [(kind, value) for pattern, kind in _IDENTITIES if pattern.search(key)]
        found += [
            (kind, "default")
            for of_key, of_value, kind in _AMBIENT
            if of_key.fullmatch(key) and of_value.fullmatch(value)
        ]
        if key.endswith("sasl.jaas.config"):
            kinds = {"profilename": "aws-profile", "rolearn": "aws-role"}
            found += [(kinds[one["kind"].lower()], one[2].strip("\"'")) for one in _OF_MSK.finditer(value)]
        yield from (why for kind, name in found if (why := self._identity_problem(kind, name)) is not None)

    def _identity_problem(self, kind: str, name: str) -> str | None:
        # a list of connections such as * is none of identities
        listed = [one for one in self.connections if one.startswith(f"{kind}:")]
        if any(fnmatchcase(f"{kind}:{name}", pattern) for pattern in listed):
            return None
        shown = f"{kind}:{name[:_SHOWN]}"
        what = "extension" if kind == _EXTENSION else "identity"
        return f"the {what} '{shown}' is not in {CONNECTIONS} of Airflow's environment: ask its operator"

    def _extensions(self, config: Mapping[str, str]) -> Iterator[str]:
        """Yield the extensions that are not listed: which of their keys are addresses is not known here."""
        for key, value in config.items():
            registry = next((one for pattern, one in _NAMING if pattern.fullmatch(key)), None)
            if registry is None or not registry.added:
                continue
            text = value.strip()
            names = dict.fromkeys((*registry.full_names(text), *registry.full_names(text.lower())))
            for declared in filter(None, map(registry.declared, names)):
                if why := self._identity_problem(_EXTENSION, declared.distribution):
                    yield f"{key[:_SHOWN]} {text[:_SHOWN]!r}: {why}"

    def _ambient_logins(self, config: Mapping[str, str]) -> Iterator[str]:
        """Yield the workers' identities that clients of stores and databases take where a connector has no login.

        They send a token or a password, which whoever answers at an address of the connector's could use elsewhere.
        """
        given = {key.removeprefix(f"{_CATALOG}."): value.strip() for key, value in config.items() if value.strip()}
        is_google = bool(given.get("gcs.oauth2.token")) or given.get("gcs.no-auth", "").lower() == "true"
        if _GOOGLES_HOST in given and not is_google and (why := self._identity_problem("gcp-identity", "default")):
            yield f"{_CATALOG}.{_GOOGLES_HOST} without gcs.oauth2.token or gcs.no-auth gets the workers' token: {why}"
        host, is_entra = next((key for key in _AZURES_HOSTS if key in given), None), all(key in given for key in _ENTRA)
        if host and not is_entra and (why := self._identity_problem("azure-identity", "default")):
            yield f"{_CATALOG}.{host} without {', '.join(_ENTRA)} may get the workers' token: {why}"
        is_postgresql = given.get("uri", "").lower().startswith(_POSTGRESQL) and "jdbc.password" not in given
        if is_postgresql and (why := self._identity_problem("postgresql-identity", "default")):
            yield f"{_CATALOG}.uri without jdbc.password gets PGPASSWORD of the workers: {why}"
        managed = "" if is_entra else given.get(_ENTRA[0], "")
        if managed and (why := self._identity_problem("azure-identity", managed)):
            yield f"{_CATALOG}.{_ENTRA[0]} without {', '.join(_ENTRA[1:])} is an identity of the workers: {why}"

    def _default_hosts(self, config: Mapping[str, str]) -> Iterator[str]:
        """Yield the hosts that AWS's clients ask where a connector names none, and that are not listed.

        A listed catalog or connection says by itself where it is.
        """
        if _CATALOG in config or "floe.aws.conn-id" in config or "floe.catalog.conn-id" in config:
            return
        given = {key.removeprefix(f"{_CATALOG}."): value.strip() for key, value in config.items()}
        kind = given.get("type", "").lower() or given.get("catalog-impl", "").lower()
        services = ["glue"] if kind.endswith(("glue", "gluecatalog")) else []
        has_place = "s3.endpoint" in given or f"{_HADOOP}endpoint" in config or "://" in given.get("warehouse", "")
        if not has_place and any(_OF_S3.match(name) for name in given):
            services.append("s3")
        for service in services:
            if f"{service}.endpoint" in given:
                continue
            region = next((given[name] for one in _REGIONS if (name := one.format(service)) in given), "")
            host = ".".join(filter(None, (service, region, "amazonaws.com")))
            if (why := self.hosts.problem(f"https://{host}")) is not None:
                yield f"{_CATALOG}.{service}.endpoint is not given, so the default counts: {why}"


def _login_options(key: str, value: str) -> Mapping[str, str] | None:
    """Return the options in a login of Kafka's, which may be addresses and files; None for what is none."""
    if not key.endswith("sasl.jaas.config"):
        return None
    try:
        return read_entry(value).options
    except JaasUnusable:
        return None


def _is_path(key: str, value: str) -> bool:
    """Whether a value that is no certificate or private key names a file: certificates are given as a text, or by a path."""
    return key.endswith("certificates") or bool(_PATH.search(value))


def secret_reference(name: str, key: str) -> str:
    """Return the text that replaces the secret ``key`` of the connector ``name``."""
    return f"${{floe:{name}:{key}}}"


def _reference_problem(name: str, key: str, value: str) -> str | None:
    if value.strip() != secret_reference(name, key):
        return (
            "a connector made by REST has no references to values elsewhere, but to its own secrets as the API answers them, "
            f"here {secret_reference(name, key)[:_SHOWN]!r}"
        )
    if ADDRESS.search(key) or _PATH_KEY.search(key) or not is_late(key):
        return "the value of this key is no secret: write it out"
    return None
