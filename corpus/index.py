"""How a document becomes what is indexed: cut, counted and hashed, without a database."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from corpus.chunk import ChunkSettings, Piece, cut
from corpus.load import SourceText
from kit.language import detect_language
from kit.stemming import term_languages, terms

INDEX_VERSION = 2
"""Part of each document's hash: with another way of cutting or stemming, all are taken anew."""


@dataclass(frozen=True)
class IndexedChunk:
    piece: Piece
    content_hash: str
    counts: Counter[str]

    @property
    def length(self) -> int:
        return self.counts.total()


@dataclass(frozen=True)
class IndexedDocument:
    """A document cut and counted, ready to be written; made without a database."""

    source: SourceText
    title: str
    language: str
    content_hash: str
    chunks: tuple[IndexedChunk, ...]


def index_document(source: SourceText, settings: ChunkSettings | None = None) -> IndexedDocument:
    """Cut a document into chunks and count their terms."""
    pieces = cut(source.text, is_markdown=source.is_markdown, settings=settings)
    title = source.title or _title(source, pieces)
    language = source.language or detect_language(source.text)
    chunks = tuple(_index_piece(piece, title, language) for piece in pieces)
    return IndexedDocument(source, title, language, hash_source(source), chunks)


def hash_source(source: SourceText) -> str:
    """Hash all that is stored of a document: equal means that nothing has changed."""
    stored = [INDEX_VERSION, source.text, source.title, source.language, source.metadata]
    return hash_text(json.dumps(stored, ensure_ascii=False, sort_keys=True))


def hash_text(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def passage_of(title: str, heading_path: Sequence[str], chunk: str) -> str:
    """Say what is embedded and counted for a chunk: where it stands, then its text."""
    above = [*dict.fromkeys(part for part in (title, *heading_path) if part)]
    return f"{' > '.join(above)}\n{chunk.strip()}"


def _index_piece(piece: Piece, title: str, language: str) -> IndexedChunk:
    """Count a chunk's terms, those of its document's title once more (decision 0011)."""
    passage = passage_of(title, piece.heading_path, piece.text)
    languages = term_languages([language])
    counts = Counter(terms(passage, languages) + terms(title, languages))
    return IndexedChunk(piece, hash_text(passage), counts)


def _title(source: SourceText, pieces: Sequence[Piece]) -> str:
    for piece in pieces:
        if piece.heading_path:
            return piece.heading_path[0]
    return source.source_id.rpartition("/")[2].rpartition(".")[0] or source.source_id
