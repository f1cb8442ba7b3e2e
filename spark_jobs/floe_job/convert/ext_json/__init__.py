"""Apicurio's JSON objects of a schema's id and a payload; the schema is that of Connect's envelopes, in a registry."""
