"""Evolution with memory: trials, gene bank, proof book, budgets in every unit, leases.

Revision ID: 0002
Revises: 0001
"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('endpoint',
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('closed_until', sa.DateTime(timezone=True), nullable=True),
    sa.Column('reason', sa.String(), nullable=False),
    sa.PrimaryKeyConstraint('name', name=op.f('pk_endpoint'))
    )
    op.create_table('endpoint_lease',
    sa.Column('endpoint', sa.String(), nullable=False),
    sa.Column('holder', sa.String(), nullable=False),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_endpoint_lease'))
    )
    op.create_index(op.f('ix_endpoint_lease_endpoint_expires_at'), 'endpoint_lease', ['endpoint', 'expires_at'], unique=False)
    op.create_table('gene_bank',
    sa.Column('domain', sa.String(), nullable=False),
    sa.Column('layer', sa.String(), nullable=False),
    sa.Column('path', sa.String(), nullable=False),
    sa.Column('gene_id', sa.String(), nullable=False),
    sa.Column('text', sa.String(), nullable=False),
    sa.Column('text_hash', sa.String(), nullable=False),
    sa.Column('origin', sa.String(), nullable=False),
    sa.Column('cycle_id', sa.Uuid(), nullable=True),
    sa.Column('tried', sa.Integer(), nullable=False),
    sa.Column('worth', sa.Double(), nullable=True),
    sa.Column('low', sa.Double(), nullable=True),
    sa.Column('high', sa.Double(), nullable=True),
    sa.Column('updated_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.CheckConstraint("layer in ('postprocess', 'routing', 'cache_policy')", name=op.f('ck_gene_bank_layer')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_gene_bank')),
    sa.UniqueConstraint('domain', 'layer', 'path', 'text_hash', name=op.f('uq_gene_bank_domain_layer_path_text_hash'))
    )
    op.create_table('proof_book',
    sa.Column('number', sa.Integer(), nullable=False),
    sa.Column('domain', sa.String(), nullable=False),
    sa.Column('layer', sa.String(), nullable=False),
    sa.Column('cycle_id', sa.Uuid(), nullable=False),
    sa.Column('genome_id', sa.Uuid(), nullable=False),
    sa.Column('claim', sa.String(), nullable=False),
    sa.Column('alpha', sa.Double(), nullable=False),
    sa.Column('proven', sa.Boolean(), nullable=True),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.CheckConstraint("layer in ('postprocess', 'routing', 'cache_policy')", name=op.f('ck_proof_book_layer')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_proof_book')),
    sa.UniqueConstraint('cycle_id', 'genome_id', name=op.f('uq_proof_book_cycle_id_genome_id')),
    sa.UniqueConstraint('number', name=op.f('uq_proof_book_number'))
    )
    op.create_table('refused_proposal',
    sa.Column('cycle_id', sa.Uuid(), nullable=False),
    sa.Column('domain', sa.String(), nullable=False),
    sa.Column('layer', sa.String(), nullable=False),
    sa.Column('parent_id', sa.Uuid(), nullable=True),
    sa.Column('operator', sa.String(), nullable=False),
    sa.Column('reason', sa.String(), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['cycle_id'], ['cycle.id'], name=op.f('fk_refused_proposal_cycle_id_cycle'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_refused_proposal_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_refused_proposal'))
    )
    op.create_index(op.f('ix_refused_proposal_domain_layer_created_at'), 'refused_proposal', ['domain', 'layer', 'created_at'], unique=False)
    op.create_table('trial',
    sa.Column('cycle_id', sa.Uuid(), nullable=False),
    sa.Column('number', sa.Integer(), nullable=False),
    sa.Column('round', sa.Integer(), nullable=False),
    sa.Column('genome_id', sa.Uuid(), nullable=False),
    sa.Column('question_ids', postgresql.ARRAY(sa.Uuid()), nullable=False),
    sa.Column('predicted', sa.Double(), nullable=True),
    sa.Column('error', sa.Double(), nullable=True),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['cycle_id'], ['cycle.id'], name=op.f('fk_trial_cycle_id_cycle'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['genome_id'], ['evolution_genome.id'], name=op.f('fk_trial_genome_id_evolution_genome'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_trial_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('cycle_id', 'number', name=op.f('pk_trial'))
    )
    add_filled('cycle', 'limits', postgresql.JSONB(astext_type=sa.Text()), "'{}'")
    add_filled('cycle', 'reserved_calls', sa.Integer(), "0")
    add_filled('cycle', 'spent_calls', sa.Integer(), "0")
    add_filled('cycle', 'reserved_tokens', sa.BigInteger(), "0")
    add_filled('cycle', 'spent_tokens', sa.BigInteger(), "0")
    add_filled('cycle', 'reserved_micros', sa.BigInteger(), "0")
    add_filled('cycle', 'spent_micros', sa.BigInteger(), "0")
    add_filled('cycle', 'ran_s', sa.Double(), "0")
    op.add_column('cycle', sa.Column('resumed_at', sa.DateTime(timezone=True), nullable=True))
    op.add_column('cycle', sa.Column('wish', sa.String(), nullable=True))
    add_filled('cycle', 'fence', sa.Integer(), "0")
    op.add_column('cycle', sa.Column('holder', sa.String(), nullable=True))
    op.add_column('cycle', sa.Column('lease_until', sa.DateTime(timezone=True), nullable=True))
    add_filled('evolution_eval_result', 'tokens', sa.Integer(), "0")
    add_filled('evolution_eval_result', 'micros', sa.BigInteger(), "0")
    op.add_column('evolution_genome', sa.Column('mate_id', sa.Uuid(), nullable=True))
    op.create_foreign_key(op.f('fk_evolution_genome_mate_id_evolution_genome'), 'evolution_genome', 'evolution_genome', ['mate_id'], ['id'])
    add_filled('paid_answer', 'tokens', sa.Integer(), "0")
    add_filled('paid_answer', 'micros', sa.BigInteger(), "0")
    add_filled('paid_call', 'fence', sa.Integer(), "0")
    add_filled('paid_call', 'reserved_tokens', sa.Integer(), "0")
    add_filled('paid_call', 'reserved_micros', sa.BigInteger(), "0")
    add_filled('question', 'query_type', sa.String(), "''")
    add_filled('question', 'origin', sa.String(), "'imported'")
    check('cycle', 'status', "status in ('queued', 'running', 'paused', 'done', 'failed', 'cancelled')")
    check('cycle', 'wish', "wish in ('pause', 'cancel')", is_new=True)
    check('question', 'origin', "origin in ('imported', 'traffic')", is_new=True)
    isolate_tenants()
    grant_to_service()
    let_cycles_be_entered()


def downgrade() -> None:
    op.execute("drop function genoma_enter_cycle(uuid, uuid, uuid)")
    op.drop_constraint(op.f('ck_question_origin'), 'question', type_='check')
    op.drop_constraint(op.f('ck_cycle_wish'), 'cycle', type_='check')
    op.execute("update cycle set status = 'failed' where status in ('paused', 'cancelled')")
    check('cycle', 'status', "status in ('queued', 'running', 'done', 'failed')")
    op.drop_column('question', 'origin')
    op.drop_column('question', 'query_type')
    op.drop_column('paid_call', 'reserved_micros')
    op.drop_column('paid_call', 'reserved_tokens')
    op.drop_column('paid_call', 'fence')
    op.drop_column('paid_answer', 'micros')
    op.drop_column('paid_answer', 'tokens')
    op.drop_constraint(op.f('fk_evolution_genome_mate_id_evolution_genome'), 'evolution_genome', type_='foreignkey')
    op.drop_column('evolution_genome', 'mate_id')
    op.drop_column('evolution_eval_result', 'micros')
    op.drop_column('evolution_eval_result', 'tokens')
    op.drop_column('cycle', 'lease_until')
    op.drop_column('cycle', 'holder')
    op.drop_column('cycle', 'fence')
    op.drop_column('cycle', 'wish')
    op.drop_column('cycle', 'resumed_at')
    op.drop_column('cycle', 'ran_s')
    op.drop_column('cycle', 'spent_micros')
    op.drop_column('cycle', 'reserved_micros')
    op.drop_column('cycle', 'spent_tokens')
    op.drop_column('cycle', 'reserved_tokens')
    op.drop_column('cycle', 'spent_calls')
    op.drop_column('cycle', 'reserved_calls')
    op.drop_column('cycle', 'limits')
    op.drop_table('trial')
    op.drop_index(op.f('ix_refused_proposal_domain_layer_created_at'), table_name='refused_proposal')
    op.drop_table('refused_proposal')
    op.drop_table('proof_book')
    op.drop_table('gene_bank')
    op.drop_index(op.f('ix_endpoint_lease_endpoint_expires_at'), table_name='endpoint_lease')
    op.drop_table('endpoint_lease')
    op.drop_table('endpoint')


def add_filled(table: str, name: str, kind: sa.types.TypeEngine, filled_with: str) -> None:
    """Add a column that is never null, with a value for the rows that are there already."""
    op.add_column(table, sa.Column(name, kind, nullable=False, server_default=sa.text(filled_with)))
    op.alter_column(table, name, server_default=None)


def check(table: str, name: str, rule: str, *, is_new: bool = False) -> None:
    """Make a check, in place of its former wording."""
    if not is_new:
        op.drop_constraint(op.f(f'ck_{table}_{name}'), table, type_='check')
    op.create_check_constraint(op.f(f'ck_{table}_{name}'), table, rule)


def isolate_tenants() -> None:
    """Force row-level security: an unset tenant raises, also for the owner of the table."""
    for table in ("refused_proposal", "trial"):
        op.execute(f"alter table {table} enable row level security")
        op.execute(f"alter table {table} force row level security")
        op.execute(
            f"create policy tenant_only on {table} "
            "using (tenant_id = current_setting('genoma.tenant')::uuid) "
            "with check (tenant_id = current_setting('genoma.tenant')::uuid)"
        )


def grant_to_service() -> None:
    tables = "endpoint, endpoint_lease, gene_bank, proof_book, refused_proposal, trial"
    op.execute(f"grant select, insert, update, delete on {tables} to genoma_service")
    op.execute("revoke update, delete on refused_proposal, trial from genoma_service")


def let_cycles_be_entered() -> None:
    """Give a cycle's fence, locked, and set the tenant to work for: one round trip, not three."""
    op.execute(
        """
        create function genoma_enter_cycle(owner uuid, cycle_id uuid, acting_for uuid)
        returns integer language plpgsql as $$
        declare found_fence integer;
        begin
            perform set_config('genoma.tenant', owner::text, true);
            select fence into found_fence from cycle where id = cycle_id for key share;
            perform set_config('genoma.tenant', coalesce(acting_for::text, ''), true);
            return found_fence;
        end $$
        """
    )
