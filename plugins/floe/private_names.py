"""How a module that leans on another library's private names declares them; ``tests/unit/test_private_names`` checks each.

Such a module is named ``*_internals`` or ``*_patches``, and no other module of floe uses a private name of a library.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class PrivateName:
    """A private name of another library.

    ``path``: ``module:Class.name``. ``parameters``: those of a function that is called, replaced or overridden, in order.
    ``reason``: what public names cannot do. ``until``: what would let floe go without it.
    """

    path: str
    reason: str
    until: str
    parameters: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The private name itself."""
        return self.path.rpartition(":")[2].rpartition(".")[2]
