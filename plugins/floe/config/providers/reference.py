"""References to config providers in a text: ``${provider:path:key}`` and ``${provider:key}``, as Kafka reads them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_REFERENCE: Final = re.compile(r"\$\{([^${}:]+):([^{}]*)\}")
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_]\w*\}")
_OF_TRANSFORMS: Final = ("transforms.", "predicates.")
"""Keys in which ``${…}`` is a placeholder, or a part of an expression."""


@dataclass(frozen=True)
class Reference:
    """One reference: the provider's name, the path, empty if there is none, and the key. It contains no secret."""

    provider: str
    path: str
    key: str

    def __str__(self) -> str:
        path = f"{self.path}:" if self.path else ""
        return f"${{{self.provider}:{path}{self.key}}}"


def providers_in(text: str) -> list[str]:
    """Return the providers that a text refers to, one for each reference."""
    return [provider for provider, _ in _REFERENCE.findall(text)]


def references_in(text: str) -> list[Reference]:
    """Return the references in a text."""
    return [_reference(*found) for found in _REFERENCE.findall(text)]


def unreplaced(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each key whose value has a variable of a shell or of a template, as it is written there."""
    if not _VARIABLE.search("\n".join(properties.values())):
        return
    for key, value in properties.items():
        if "${" in value and _VARIABLE.search(value) and not key.startswith(_OF_TRANSFORMS):
            yield (
                f"{key} has ${{…}} without a provider, which nothing replaces: for a variable of the environment write "
                "${env:NAME}"
            )


def replace_references(text: str, value_of: Callable[[Reference], str]) -> str:
    """Replace every reference by its value; a reference in a value stays as it is."""
    return _REFERENCE.sub(lambda found: value_of(_reference(found[1], found[2])), text)


def resolved_part(text: str, value: str) -> str:
    """Return what is in ``value`` in place of the reference in ``text``; all of it where there is not just one."""
    found = list(_REFERENCE.finditer(text))
    if len(found) != 1:
        return value
    before, after = text[: found[0].start()], text[found[0].end() :]
    is_around = len(value) >= len(before) + len(after) and value.startswith(before) and value.endswith(after)
    return value[len(before) : len(value) - len(after)] if is_around else value


def _reference(provider: str, rest: str) -> Reference:
    path, has_path, key = rest.partition(":")
    return Reference(provider, path, key) if has_path else Reference(provider, "", rest)
