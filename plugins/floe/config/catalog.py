"""``iceberg.catalog.*``: which catalogs floe reaches, and keys of Java catalogs that mean nothing to PyIceberg."""

from floe.config.names import plain_problem
from floe.config.properties import Properties
from floe.config.settings import Settings

PREFIX = "iceberg.catalog."
TYPE = "iceberg.catalog.type"

TYPES = ("sql", "rest")
_ALSO_CALLED = {"jdbc": "sql"}
_IMPLEMENTATIONS = ("catalog-impl", "py-catalog-impl")
_JAVA_ONLY = {
    "io-impl": "it names a Java class; PyIceberg chooses by the location's scheme, or by py-io-impl",
    "client.credentials-provider": "it names a Java class; set s3.access-key-id and s3.secret-access-key, or leave "
    "credentials to the environment",
    "s3.path-style-access": "PyIceberg addresses by path at an s3.endpoint of its own, unless "
    "s3.force-virtual-addressing is true",
}


def read_catalog(settings: Settings) -> Properties:
    """Check the catalog's properties and take them without their prefix, the type in lower case."""
    properties = settings.properties.under(PREFIX)
    if problem := plain_problem(settings.text("iceberg.catalog")):
        settings.problems.append(f"iceberg.catalog {problem}")
    if not properties:
        return Properties()  # the sink's own message is given by the cross-key rules
    implementations = [key for key in _IMPLEMENTATIONS if key in properties]
    for key in implementations:
        settings.problems.append(
            f"{PREFIX}{key} is not supported: catalogs of your own classes are not built. Set {TYPE} to sql or rest"
        )
    if TYPE in settings.properties or not implementations:
        properties["type"] = _read_type(settings)
    settings.warnings.extend(
        f"{PREFIX}{key} has no effect: {reason}" for key, reason in _JAVA_ONLY.items() if key in properties
    )
    return Properties(properties)


def _read_type(settings: Settings) -> str:
    if not settings.given(TYPE):
        settings.problems.append(
            f"{TYPE} is not given, which means hive to the sink, and hive is not supported yet: set it to sql or rest"
        )
        return ""
    kind = settings.text(TYPE).lower()
    if kind not in TYPES:
        hint = _ALSO_CALLED.get(kind)
        advice = f"PyIceberg calls it {hint}: set {hint}" if hint else "set sql or rest"
        settings.problems.append(f"{TYPE} {kind[:100]!r} is not supported yet: {advice}")
    return kind
