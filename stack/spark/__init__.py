"""Queries of the local stack's tables by Spark."""
