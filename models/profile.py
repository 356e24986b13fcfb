"""How a tenant retrieves: the settings of a profile."""

from pydantic import Field

from models.contract import Frozen


class ProfileSettings(Frozen):
    candidates: int = Field(default=50, ge=1, le=500)
    """How many fragments each leg (vector, lexical) puts up for fusion."""
    rrf_k: int = Field(default=10, ge=1, le=1000)
    vector_weight: float = Field(default=0.5, ge=0, le=10)
    lexical_weight: float = Field(default=1.0, ge=0, le=10)
    source_ids: tuple[str, ...] | None = None
    """Only these documents; an empty list means none, `null` means no restriction."""
    metadata: dict[str, str] | None = None
    """Only documents whose metadata hold these pairs; no match means no fragments."""
