"""Text that every wire and every database can carry."""


def encodable(text: str) -> str:
    """Exchange lone surrogates for `?`: Python strings may hold them, UTF-8 may not."""
    return text.encode("utf-8", "replace").decode()


def storable(text: str) -> str:
    """Exchange what PostgreSQL cannot store: NUL becomes U+2400, lone surrogates become `?`."""
    return encodable(text.replace("\0", "\u2400"))
