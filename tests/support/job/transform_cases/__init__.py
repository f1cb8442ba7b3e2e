"""Transforms with what they refuse and leave out, for the contract that each keeps to."""
