"""Key and trust stores of Java's clients, as the PEM texts that OpenSSL reads. Standard library only, but for PKCS12."""
