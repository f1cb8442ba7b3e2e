"""The suites of benchmarks; each suite returns measurements."""
