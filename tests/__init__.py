"""The tests of floe."""
