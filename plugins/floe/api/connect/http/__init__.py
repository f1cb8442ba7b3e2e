"""How a call is read before it is routed, as a Connect worker reads it."""
