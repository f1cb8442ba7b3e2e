"""Logging in at Amazon MSK as an IAM role, which Java's clients do by AWS's own login module.

librdkafka has no such mechanism. The broker also takes the same signature as a token of OAUTHBEARER: AWS's signer makes it,
in Python. So these settings are floe's own, until a client is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from floe.config.kafka.jaas import JaasUnusable

MECHANISM: Final = "AWS_MSK_IAM"
MODULE: Final = "software.amazon.msk.auth.iam.IAMLoginModule"
CLIENT_HANDLER: Final = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
LOGIN_HANDLER: Final = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"
OPTIONS_PREFIX: Final = "aws"

IS_MSK: Final = "sasl.floe.msk"
"""A mark: tokens are made by AWS's signer."""
PROFILE: Final = "sasl.floe.msk.profile"
ROLE: Final = "sasl.floe.msk.role"
SESSION: Final = "sasl.floe.msk.session"
OWN: Final = (IS_MSK, PROFILE, ROLE, SESSION)
"""Names of floe's own in the place of AWS's options between a file and a client."""

_TAKEN: Final = {"awsProfileName": PROFILE, "awsRoleArn": ROLE, "awsRoleSessionName": SESSION}
_UNUSED: Final = {
    "awsDebugCreds": "credentials are not logged",
    "awsMaxRetries": "the client asks for a token again by itself",
    "awsMaxBackOffTimeMs": "the client asks for a token again by itself",
}
_KEYS: Final = (
    "set AWS's own variables (AWS_ACCESS_KEY_ID and so on, or a role of the machine) where Airflow's tasks and Spark's "
    "workers run, or awsProfileName, or awsRoleArn"
)


def msk_settings(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return settings of floe's own for the options, and those without effect with reasons. Raises JaasUnusable."""
    others = sorted(options.keys() - _TAKEN.keys() - _UNUSED.keys())
    if others:
        msg = f"its option {others[0][:100]!r} is not read: {_KEYS}"
        raise JaasUnusable(msg)
    if options.get("awsProfileName") and options.get("awsRoleArn"):
        msg = f"awsProfileName and awsRoleArn are two logins: {_KEYS}"
        raise JaasUnusable(msg)
    conf = {own: options[name] for name, own in _TAKEN.items() if options.get(name)}
    return {IS_MSK: "true", **conf}, {name: why for name, why in _UNUSED.items() if name in options}
