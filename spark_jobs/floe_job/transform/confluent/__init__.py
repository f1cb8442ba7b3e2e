"""Confluent's transforms, by their documentation: no public repository serves the classes."""
