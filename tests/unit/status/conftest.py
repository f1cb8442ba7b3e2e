"""A lake for each test."""

from tests.support.fixtures import lake

__all__ = ["lake"]
