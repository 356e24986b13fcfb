"""Every table of the lab."""

from models.tables.accounts import ApiKey, LedgerEntry, Profile, Tenant
from models.tables.base import DEFAULT_TENANT, LAB_TENANT, Base, tenant_tables, utc_now
from models.tables.corpus import (
    INDEXED_DIMENSIONS,
    ChunkVector,
    Corpus,
    Document,
    DocumentChunk,
    EmbeddingCache,
    Posting,
    Question,
)
from models.tables.cycles import Cycle, PaidAnswer, PaidCall, PaidVerdict, QuestionUse
from models.tables.genomes import (
    Approval,
    ApprovalDecision,
    Deployment,
    EvolutionEvalResult,
    EvolutionGenome,
)
from models.tables.people import AdminSession, AdminUser, AuditLog, SetupLink
from models.tables.serving import CachedAnswer, Trace

__all__ = [
    "DEFAULT_TENANT",
    "INDEXED_DIMENSIONS",
    "LAB_TENANT",
    "AdminSession",
    "AdminUser",
    "ApiKey",
    "Approval",
    "ApprovalDecision",
    "AuditLog",
    "Base",
    "CachedAnswer",
    "ChunkVector",
    "Corpus",
    "Cycle",
    "Deployment",
    "Document",
    "DocumentChunk",
    "EmbeddingCache",
    "EvolutionEvalResult",
    "EvolutionGenome",
    "LedgerEntry",
    "PaidAnswer",
    "PaidCall",
    "PaidVerdict",
    "Posting",
    "Profile",
    "Question",
    "QuestionUse",
    "SetupLink",
    "Tenant",
    "Trace",
    "tenant_tables",
    "utc_now",
]
