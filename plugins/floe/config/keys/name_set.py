"""Names and prefixes, for lookups of thousands of keys."""

from collections.abc import Iterable, Iterator


class NameSet:
    """A set of names, in which ``name.*`` means every name that begins with ``name.``."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._exact = frozenset(name for name in self._names if not name.endswith("*"))
        self._prefixes = tuple(name[:-1] for name in self._names if name.endswith("*"))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._exact or name.startswith(self._prefixes))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)
