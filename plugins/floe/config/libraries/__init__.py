"""Settings that are passed to librdkafka, PyIceberg and tables."""
