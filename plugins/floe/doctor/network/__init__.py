"""Servers as the network shows them: their addresses, and what listens there."""
