"""The key of a cached answer: everything that it depends on besides the words of the question."""

import hashlib
import json
from dataclasses import dataclass

from pipeline.ports import CacheKey
from pipeline.run import PIPELINE_VERSION
from pipeline.state import State


@dataclass(frozen=True)
class CacheKeys:
    """Makes keys for one set of models (their names, in a fixed order)."""

    models: tuple[str, ...]

    def of(self, state: State) -> CacheKey:
        """Tenant and corpus stand in the key in clear, all else as one hash."""
        scope = state.scope
        parts = [
            scope.profile,
            scope.settings.model_dump(mode="json"),
            scope.corpus_version,
            scope.abstain_below,
            state.genomes.fingerprint(),
            self.models,
            PIPELINE_VERSION,
            state.language,
            [turn.model_dump() for turn in state.history],
        ]
        text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        fingerprint = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return CacheKey(scope.tenant_id, scope.corpus_id, fingerprint)
