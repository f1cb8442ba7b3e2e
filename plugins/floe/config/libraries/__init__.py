"""Settings that are handed on to librdkafka, PyIceberg and tables."""
