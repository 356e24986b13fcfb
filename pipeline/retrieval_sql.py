"""The statements of hybrid retrieval. They are assembled from constants alone."""

from models.profile import ProfileSettings

K1 = 2.0
B = 0.75
"""BM25's saturation of repeated terms and weight of length, inside the ranges that Robertson &
Zaragoza (2009, section 3.5) give, 1.2 < k1 < 2 and 0.5 < b < 0.8; measured in decision 0011."""

CORPUS = """
select version, chunk_count, term_count, languages,
       case when version = :complete then chunk_count else (
           select count(*) from chunk_vector v where v.corpus_id = corpus.id and v.model = :model
       ) end as vector_count
from corpus where id = :corpus
"""

INDEX_SETTINGS = """
select set_config('hnsw.iterative_scan', 'relaxed_order', true),
       set_config('hnsw.ef_search', :ef_search, true)
"""

WITHOUT_VECTOR = """
select id from unnest(cast(:ids as uuid[])) as id
where not exists (select from chunk_vector v where v.chunk_id = id and v.model = :model)
"""

_LEXICAL = """
with hit as (
    select p.term, p.chunk_id, p.tf, p.length from posting p
    where p.corpus_id = :corpus and p.term = any(:terms)
),
weight as (
    select term,
        ln(1 + (:chunk_count - count(*) + 0.5)::float8 / (count(*) + 0.5)::float8) as idf
    from hit group by term
),
ranked as (
    select hit.chunk_id, sum(
        weight.idf * hit.tf * ({k1}::float8 + 1)
        / (hit.tf + {k1}::float8 * (1 - {b}::float8 + {b}::float8 * hit.length / :average_length))
    ) as score
    from hit join weight using (term) group by hit.chunk_id
)
select ranked.chunk_id, ranked.score
from ranked {join}
{filter}
order by ranked.score desc, ranked.chunk_id limit :candidates
"""
"""BM25 (Robertson & Zaragoza 2009, equation 3.15) with the idf that is never negative. In float8:
`numeric`, which PostgreSQL takes for a literal with a point, is many times slower."""

_VECTOR = """
select v.chunk_id, {distance} as distance
from chunk_vector v {join}
where v.corpus_id = :corpus and v.model = :model
    and vector_dims(v.embedding) = {size} {filter}
order by {order} limit :candidates
"""

_METADATA = """and not exists (
    select from jsonb_each_text(cast(:metadata as jsonb)) as asked
    where (d.meta ->> asked.key is distinct from asked.value)
        and jsonb_exists(d.meta -> asked.key, asked.value) is not true
)"""
"""Every pair asked for is there: as the value, as text, or among the values of a list."""

_CHUNKS = """
select c.id, c.text, c.heading_path, c.byte_start, c.byte_end, d.source_id, d.title,
       d.url_or_internal_ref, d.language, d.meta, {similarity} as similarity
from chunk c join document d on d.id = c.document_id
left join chunk_vector v on v.chunk_id = c.id and v.model = :model
where c.id = any(:ids)
"""


def lexical_leg(settings: ProfileSettings) -> str:
    """BM25 over the postings of a corpus. Takes corpus, terms, chunk_count, average_length."""
    return _LEXICAL.format(
        k1=K1, b=B, join=_join("ranked", settings), filter=_filter("where true", settings)
    )


def vector_leg(settings: ProfileSettings, size: int, *, exact: bool) -> str:
    """The nearest chunks by cosine distance. Takes corpus, model, vector.

    `exact` compares every vector of the corpus: a sum is no expression that the index knows.
    """
    distance = f"(v.embedding::vector({size}) <=> cast(:vector as vector({size})))"
    return _VECTOR.format(
        size=int(size),
        distance=distance,
        order=f"{distance} + 0" if exact else distance,
        join=_join("v", settings),
        filter=_filter("", settings),
    )


def chunks(*, with_similarity: bool) -> str:
    """The chunks of some ids, with their documents. Takes ids, model and the vector."""
    similarity = "1 - (v.embedding <=> cast(:vector as vector))" if with_similarity else "null"
    return _CHUNKS.format(similarity=similarity)


def _join(found: str, settings: ProfileSettings) -> str:
    """The documents that filters ask about; without a filter they are not touched."""
    if settings.source_ids is None and settings.metadata is None:
        return ""
    return f"join chunk c on c.id = {found}.chunk_id join document d on d.id = c.document_id"


def _filter(start: str, settings: ProfileSettings) -> str:
    conditions = [start]
    if settings.source_ids is not None:
        conditions.append("and d.source_id = any(:source_ids)")
    if settings.metadata is not None:
        conditions.append(_METADATA)
    return " ".join(conditions)
