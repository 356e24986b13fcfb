"""Every table of the lab."""

from models.tables.accounts import ApiKey, Endpoint, EndpointLease, LedgerEntry, Profile, Tenant
from models.tables.base import DEFAULT_TENANT, LAB_TENANT, Base, table_of, tenant_tables, utc_now
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
from models.tables.cycles import (
    Cycle,
    PaidAnswer,
    PaidCall,
    PaidVerdict,
    QuestionUse,
    RefusedProposal,
    Trial,
)
from models.tables.genomes import (
    Approval,
    ApprovalDecision,
    BankedGene,
    Deployment,
    EvolutionEvalResult,
    EvolutionGenome,
    ProofEntry,
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
    "BankedGene",
    "Base",
    "CachedAnswer",
    "ChunkVector",
    "Corpus",
    "Cycle",
    "Deployment",
    "Document",
    "DocumentChunk",
    "EmbeddingCache",
    "Endpoint",
    "EndpointLease",
    "EvolutionEvalResult",
    "EvolutionGenome",
    "LedgerEntry",
    "PaidAnswer",
    "PaidCall",
    "PaidVerdict",
    "Posting",
    "Profile",
    "ProofEntry",
    "Question",
    "QuestionUse",
    "RefusedProposal",
    "SetupLink",
    "Tenant",
    "Trace",
    "Trial",
    "table_of",
    "tenant_tables",
    "utc_now",
]
