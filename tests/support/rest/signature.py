"""AWS Signature Version 4 as a server checks it, written from AWS' documentation; the client uses AWS' library."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

_LOGIN = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=(\w{64})"
)
_DEMANDED = {"host", "x-amz-date"}


def signature_problem(
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes,
    keys: Mapping[str, str],
    region: str,
    service: str,
) -> str:
    """Return what is wrong with a request's signature, empty if nothing; ``headers``: by names in lower case."""
    found = _LOGIN.fullmatch(headers.get("authorization", ""))
    if found is None:
        return "MissingAuthenticationToken"
    key, date, its_region, its_service, signed, signature = found.groups()
    if key not in keys or (its_region, its_service) != (region, service):
        return "UnrecognizedClientException"
    names = signed.split(";")
    if not set(names) >= _DEMANDED or names != sorted(names):
        return "IncompleteSignature"
    if headers.get("x-amz-content-sha256", hashlib.sha256(body).hexdigest()) != hashlib.sha256(body).hexdigest():
        return "the body is not what was signed"
    parts = urlsplit(path)
    query = "&".join(sorted(parts.query.split("&"))) if parts.query else ""
    listed = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names)
    canonical = "\n".join(
        (method, quote(parts.path, safe="/-_.~"), query, listed, signed, hashlib.sha256(body).hexdigest())
    )
    scope = f"{date}/{region}/{service}/aws4_request"
    text = "\n".join(("AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()))
    derived = f"AWS4{keys[key]}".encode()
    for part in (date, region, service, "aws4_request"):
        derived = hmac.digest(derived, part.encode(), "sha256")
    expected = hmac.new(derived, text.encode(), "sha256").hexdigest()
    return "" if hmac.compare_digest(expected, signature) else "SignatureDoesNotMatch"
