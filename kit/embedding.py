"""The port through which texts become vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape (n, dimension); each row has length 1."""


class Embedder(Protocol):
    """An embedding model. Raises kit.errors.ProviderError and nothing else."""

    @property
    def name(self) -> str: ...

    async def embed_queries(self, texts: Sequence[str]) -> Vectors: ...

    async def embed_passages(self, texts: Sequence[str]) -> Vectors: ...
