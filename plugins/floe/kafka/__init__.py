"""Kafka as floe uses it: client settings, descriptions of logs and groups, positions, fenced transactions."""
