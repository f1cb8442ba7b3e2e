"""Private names of confluent-kafka 2.16.1. The layout of librdkafka's memory is in ``librdkafka``."""

from typing import Final

import confluent_kafka as ck

from floe.private_names import PrivateName

PRIVATE_NAMES: Final = (
    PrivateName(
        "confluent_kafka:_resolve_plugins",
        "librdkafka is called without confluent-kafka's client, which finds the plugins that its wheels bring",
        "a public function for it",
        ("plugins",),
    ),
)


def plugin_paths(names: str) -> str:
    """Return the paths of the librdkafka plugins that a setting names, as confluent-kafka's own client finds them."""
    paths: str = ck._resolve_plugins(names)
    return paths
