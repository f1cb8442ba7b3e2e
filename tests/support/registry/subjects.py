"""Registering schemas through a registry's Confluent API."""

from stack.subjects import register

__all__ = ["register"]
