"""What a cycle has left in its store when it ended, named by content: two labs can be compared."""

import json
from dataclasses import dataclass
from typing import Any

import psycopg

CONTENT = {
    "calls": "select key, role from paid_call where state = 'done'",
    "answers": "select key, answer, chunks, tokens, micros from paid_answer",
    "verdicts": "select key, verdict - 'raw' from paid_verdict",
    "results": """
        select r.phase, g.content_hash, r.question_id, r.judge_score, r.unscored_reason, r.criteria,
               r.bonus, r.response, r.tokens, r.micros, r.answer_key
        from evolution_eval_result r join evolution_genome g on g.id = r.genome_id""",
    "trials": """
        select t.number, t.round, g.content_hash, t.question_ids, t.predicted, t.error
        from trial t join evolution_genome g on g.id = t.genome_id""",
    "genomes": """
        select g.domain, g.layer, g.content, g.status, g.operator, g.notes, parent.content_hash,
               mate.content_hash
        from evolution_genome g left join evolution_genome parent on parent.id = g.parent_id
        left join evolution_genome mate on mate.id = g.mate_id""",
    "refusals": "select operator, reason, text from refused_proposal",
    "questions used": "select question_id, domain, layer, role from question_use",
    "proofs": """
        select p.number, p.claim, p.alpha, p.proven, g.content_hash
        from proof_book p join evolution_genome g on g.id = p.genome_id""",
    "approvals": """
        select a.evidence #> '{proof,pairs}', a.evidence #> '{proof,decision}', g.content_hash
        from approval a join evolution_genome g on g.id = a.genome_id""",
    "gene bank": "select path, text_hash, origin, tried, worth, low, high from gene_bank",
    "settled": """
        select ledger, purpose, unit, units from ledger_entry where outcome = 'settled'
        and cycle_id is not null""",
    "spent": "select status, error, spent from cycle",
}
"""Of each table what must be the same, however often the cycle was killed."""

TIMED = {"seconds", "front", "finalist_id", "latency", "trade", "sentence"}
"""Parts of a result that hold wall-clock times, or ids that are drawn."""


@dataclass(frozen=True)
class Books:
    """The end of a cycle."""

    content: dict[str, list[str]]
    result: dict[str, Any]
    replies: list[str]
    """Texts of the committed calls."""
    unfinished: int
    """Calls that are not committed, whatever became of them."""
    begun_anew: int
    """How often calls were made again because they were lost."""
    lost_lines: int
    """Lines of the ledger for calls that were lost in flight."""
    reserved: int
    spent_calls: int
    spent_tokens: int
    booked_calls: int
    booked_tokens: int


def read_books(url: str) -> Books:
    """Read the only cycle of a store."""
    with psycopg.connect(url) as connection:

        def rows(query: str) -> list[tuple[Any, ...]]:
            return connection.execute(query.encode()).fetchall()

        (cycle,) = rows("""
            select reserved + reserved_calls + reserved_tokens + reserved_micros,
                   spent_calls, spent_tokens, result from cycle""")
        (calls,) = rows("""
            select count(*) filter (where state <> 'done'), coalesce(sum(fence), 0)
            from paid_call""")
        (ledger,) = rows("""
            select count(*) filter (where outcome = 'lost_in_flight'), count(*), sum(units)
            from ledger_entry where ledger = 'generation' and cycle_id is not null""")
        replies = rows("select reply ->> 'text' from paid_call where state = 'done'")
        return Books(
            content={what: _written(rows(query)) for what, query in CONTENT.items()},
            result=_untimed(cycle[3]),
            replies=[text for (text,) in replies],
            unfinished=calls[0],
            begun_anew=int(calls[1]),
            lost_lines=ledger[0],
            reserved=cycle[0],
            spent_calls=cycle[1],
            spent_tokens=cycle[2],
            booked_calls=ledger[1],
            booked_tokens=int(ledger[2]),
        )


def _written(rows: list[tuple[Any, ...]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


def _untimed(result: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _untimed(value) if isinstance(value, dict) else value
        for key, value in result.items()
        if key not in TIMED
    }
