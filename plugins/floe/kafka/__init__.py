"""Kafka as floe uses it: clients' settings, facts about logs and groups, positions, fenced transactions."""
