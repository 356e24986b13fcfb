"""The ground: every table, row-level security, the service role, the job queue.

Revision ID: 0001
Revises: 
"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
import pgvector.sqlalchemy
from procrastinate.schema import SchemaManager

revision = '0001'
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("create extension if not exists vector")
    op.create_table('admin_user',
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('password_hash', sa.String(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_admin_user')),
    sa.UniqueConstraint('name', name=op.f('uq_admin_user_name'))
    )
    op.create_table('audit_log',
    sa.Column('actor', sa.String(), nullable=False),
    sa.Column('action', sa.String(), nullable=False),
    sa.Column('subject', sa.String(), nullable=False),
    sa.Column('before', postgresql.JSONB(astext_type=sa.Text()), nullable=True),
    sa.Column('after', postgresql.JSONB(astext_type=sa.Text()), nullable=True),
    sa.Column('reason', sa.String(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_audit_log'))
    )
    op.create_index('ix_audit_log_created_at', 'audit_log', ['created_at', 'id'], unique=False)
    op.create_table('evolution_genome',
    sa.Column('domain', sa.String(), nullable=False),
    sa.Column('layer', sa.String(), nullable=False),
    sa.Column('schema_version', sa.Integer(), nullable=False),
    sa.Column('content', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('content_hash', sa.String(), nullable=False),
    sa.Column('status', sa.Enum('candidate', 'evaluated', 'pending_approval', 'active', 'rejected', 'retired', name='status', native_enum=False, length=20), nullable=False),
    sa.Column('parent_id', sa.Uuid(), nullable=True),
    sa.Column('cycle_id', sa.Uuid(), nullable=True),
    sa.Column('operator', sa.String(), nullable=False),
    sa.Column('notes', sa.String(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.CheckConstraint("layer in ('postprocess', 'routing', 'cache_policy')", name=op.f('ck_evolution_genome_layer')),
    sa.CheckConstraint("status in ('candidate', 'evaluated', 'pending_approval', 'active', 'rejected', 'retired')", name=op.f('ck_evolution_genome_status')),
    sa.ForeignKeyConstraint(['parent_id'], ['evolution_genome.id'], name=op.f('fk_evolution_genome_parent_id_evolution_genome')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_evolution_genome')),
    sa.UniqueConstraint('domain', 'layer', 'content_hash', name=op.f('uq_evolution_genome_domain_layer_content_hash'))
    )
    op.create_index('uq_evolution_genome_active', 'evolution_genome', ['domain', 'layer'], unique=True, postgresql_where=sa.text("status = 'active'"))
    op.create_table('setup_link',
    sa.Column('token_hash', sa.String(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('used_at', sa.DateTime(timezone=True), nullable=True),
    sa.PrimaryKeyConstraint('token_hash', name=op.f('pk_setup_link'))
    )
    op.create_table('tenant',
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_tenant')),
    sa.UniqueConstraint('name', name=op.f('uq_tenant_name'))
    )
    op.create_table('admin_session',
    sa.Column('token_hash', sa.String(), nullable=False),
    sa.Column('user_id', sa.Uuid(), nullable=False),
    sa.Column('csrf_token', sa.String(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['user_id'], ['admin_user.id'], name=op.f('fk_admin_session_user_id_admin_user'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('token_hash', name=op.f('pk_admin_session'))
    )
    op.create_table('api_key',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('prefix', sa.String(), nullable=False),
    sa.Column('key_hash', sa.String(), nullable=False),
    sa.Column('revoked_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_api_key_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_api_key')),
    sa.UniqueConstraint('key_hash', name=op.f('uq_api_key_key_hash'))
    )
    op.create_table('corpus',
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('version', sa.Integer(), nullable=False),
    sa.Column('chunk_count', sa.Integer(), nullable=False),
    sa.Column('term_count', sa.Integer(), nullable=False),
    sa.Column('languages', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('abstain_below', sa.Double(), nullable=True),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_corpus_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_corpus')),
    sa.UniqueConstraint('tenant_id', 'name', name=op.f('uq_corpus_tenant_id_name'))
    )
    op.create_table('deployment',
    sa.Column('domain', sa.String(), nullable=False),
    sa.Column('layer', sa.String(), nullable=False),
    sa.Column('genome_id', sa.Uuid(), nullable=False),
    sa.Column('previous_id', sa.Uuid(), nullable=True),
    sa.Column('action', sa.String(), nullable=False),
    sa.Column('actor', sa.String(), nullable=False),
    sa.Column('reason', sa.String(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.CheckConstraint("action in ('seed', 'approve', 'rollback')", name=op.f('ck_deployment_action')),
    sa.ForeignKeyConstraint(['genome_id'], ['evolution_genome.id'], name=op.f('fk_deployment_genome_id_evolution_genome')),
    sa.ForeignKeyConstraint(['previous_id'], ['evolution_genome.id'], name=op.f('fk_deployment_previous_id_evolution_genome')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_deployment'))
    )
    op.create_index('ix_deployment_domain_layer', 'deployment', ['domain', 'layer', 'created_at', 'id'], unique=False)
    op.create_table('embedding_cache',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('content_hash', sa.String(), nullable=False),
    sa.Column('vector', sa.LargeBinary(), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_embedding_cache_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('tenant_id', 'model', 'kind', 'content_hash', name=op.f('pk_embedding_cache'))
    )
    op.create_table('ledger_entry',
    sa.Column('ledger', sa.String(), nullable=False),
    sa.Column('outcome', sa.String(), nullable=False),
    sa.Column('purpose', sa.String(), nullable=False),
    sa.Column('provider', sa.String(), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.Column('unit', sa.String(), nullable=False),
    sa.Column('units', sa.Integer(), nullable=False),
    sa.Column('trace_id', sa.Uuid(), nullable=True),
    sa.Column('cycle_id', sa.Uuid(), nullable=True),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.CheckConstraint("ledger in ('embedding', 'retrieval', 'generation')", name=op.f('ck_ledger_entry_ledger')),
    sa.CheckConstraint("outcome in ('settled', 'lost_in_flight')", name=op.f('ck_ledger_entry_outcome')),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_ledger_entry_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_ledger_entry'))
    )
    op.create_index('ix_ledger_entry_tenant_id_created_at', 'ledger_entry', ['tenant_id', 'created_at', 'id'], unique=False)
    op.create_table('trace',
    sa.Column('origin', sa.String(), nullable=False),
    sa.Column('profile', sa.String(), nullable=False),
    sa.Column('question', sa.Text(), nullable=False),
    sa.Column('answer', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('genomes', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('query_type', sa.String(), nullable=False),
    sa.Column('from_cache', sa.Boolean(), nullable=False),
    sa.Column('steps', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.CheckConstraint("origin in ('live', 'playground', 'lab')", name=op.f('ck_trace_origin')),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_trace_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_trace'))
    )
    op.create_index('ix_trace_tenant_id_created_at', 'trace', ['tenant_id', 'created_at', 'id'], unique=False)
    op.create_table('cached_answer',
    sa.Column('corpus_id', sa.Uuid(), nullable=False),
    sa.Column('fingerprint', sa.String(), nullable=False),
    sa.Column('question_key', sa.String(), nullable=False),
    sa.Column('question', sa.Text(), nullable=False),
    sa.Column('history', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('answer', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('source_ids', postgresql.ARRAY(sa.Text()), nullable=False),
    sa.Column('hits', sa.Integer(), nullable=False),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['corpus_id'], ['corpus.id'], name=op.f('fk_cached_answer_corpus_id_corpus'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_cached_answer_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_cached_answer'))
    )
    op.create_index(op.f('ix_cached_answer_tenant_id_fingerprint_question_key'), 'cached_answer', ['tenant_id', 'fingerprint', 'question_key'], unique=False)
    op.create_table('document',
    sa.Column('corpus_id', sa.Uuid(), nullable=False),
    sa.Column('source_id', sa.String(), nullable=False),
    sa.Column('title', sa.String(), nullable=False),
    sa.Column('url_or_internal_ref', sa.String(), nullable=False),
    sa.Column('language', sa.String(), nullable=False),
    sa.Column('content_hash', sa.String(), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('notes', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('meta', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['corpus_id'], ['corpus.id'], name=op.f('fk_document_corpus_id_corpus'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_document_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_document')),
    sa.UniqueConstraint('corpus_id', 'source_id', name=op.f('uq_document_corpus_id_source_id'))
    )
    op.create_table('profile',
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('domain', sa.String(), nullable=False),
    sa.Column('corpus_id', sa.Uuid(), nullable=False),
    sa.Column('settings', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['corpus_id'], ['corpus.id'], name=op.f('fk_profile_corpus_id_corpus')),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_profile_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_profile')),
    sa.UniqueConstraint('tenant_id', 'name', name=op.f('uq_profile_tenant_id_name'))
    )
    op.create_table('question',
    sa.Column('corpus_id', sa.Uuid(), nullable=False),
    sa.Column('external_id', sa.String(), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('language', sa.String(), nullable=False),
    sa.Column('reference_answer', sa.String(), nullable=True),
    sa.Column('source_ids', postgresql.ARRAY(sa.Text()), nullable=False),
    sa.Column('answerable', sa.Boolean(), nullable=False),
    sa.Column('cluster', sa.String(), nullable=False),
    sa.Column('meta', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['corpus_id'], ['corpus.id'], name=op.f('fk_question_corpus_id_corpus'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_question_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_question')),
    sa.UniqueConstraint('corpus_id', 'external_id', name=op.f('uq_question_corpus_id_external_id'))
    )
    op.create_table('chunk',
    sa.Column('corpus_id', sa.Uuid(), nullable=False),
    sa.Column('document_id', sa.Uuid(), nullable=False),
    sa.Column('ordinal', sa.Integer(), nullable=False),
    sa.Column('heading_path', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('content_hash', sa.String(), nullable=False),
    sa.Column('byte_start', sa.Integer(), nullable=False),
    sa.Column('byte_end', sa.Integer(), nullable=False),
    sa.Column('length', sa.Integer(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['corpus_id'], ['corpus.id'], name=op.f('fk_chunk_corpus_id_corpus'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['document_id'], ['document.id'], name=op.f('fk_chunk_document_id_document'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_chunk_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_chunk')),
    sa.UniqueConstraint('document_id', 'ordinal', name=op.f('uq_chunk_document_id_ordinal'))
    )
    op.create_index(op.f('ix_chunk_corpus_id'), 'chunk', ['corpus_id'], unique=False)
    op.create_table('cycle',
    sa.Column('layer', sa.String(), nullable=False),
    sa.Column('domain', sa.String(), nullable=False),
    sa.Column('profile_id', sa.Uuid(), nullable=False),
    sa.Column('status', sa.String(), nullable=False),
    sa.Column('due_key', sa.String(), nullable=True),
    sa.Column('seed', sa.Integer(), nullable=False),
    sa.Column('budget', sa.Integer(), nullable=False),
    sa.Column('reserved', sa.Integer(), nullable=False),
    sa.Column('spent', sa.Integer(), nullable=False),
    sa.Column('max_mutations', sa.Integer(), nullable=False),
    sa.Column('plan', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('progress', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('result', postgresql.JSONB(astext_type=sa.Text()), nullable=True),
    sa.Column('error', sa.String(), nullable=True),
    sa.Column('started_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('finished_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.CheckConstraint("layer in ('postprocess', 'routing', 'cache_policy')", name=op.f('ck_cycle_layer')),
    sa.CheckConstraint("status in ('queued', 'running', 'done', 'failed')", name=op.f('ck_cycle_status')),
    sa.CheckConstraint('spent + reserved <= budget', name=op.f('ck_cycle_budget')),
    sa.ForeignKeyConstraint(['profile_id'], ['profile.id'], name=op.f('fk_cycle_profile_id_profile')),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_cycle_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_cycle')),
    sa.UniqueConstraint('due_key', name=op.f('uq_cycle_due_key'))
    )
    op.create_table('approval',
    sa.Column('genome_id', sa.Uuid(), nullable=False),
    sa.Column('incumbent_id', sa.Uuid(), nullable=False),
    sa.Column('cycle_id', sa.Uuid(), nullable=False),
    sa.Column('digest', sa.String(), nullable=False),
    sa.Column('evidence', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['cycle_id'], ['cycle.id'], name=op.f('fk_approval_cycle_id_cycle')),
    sa.ForeignKeyConstraint(['genome_id'], ['evolution_genome.id'], name=op.f('fk_approval_genome_id_evolution_genome')),
    sa.ForeignKeyConstraint(['incumbent_id'], ['evolution_genome.id'], name=op.f('fk_approval_incumbent_id_evolution_genome')),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_approval_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_approval')),
    sa.UniqueConstraint('genome_id', 'cycle_id', name=op.f('uq_approval_genome_id_cycle_id'))
    )
    op.create_table('chunk_vector',
    sa.Column('chunk_id', sa.Uuid(), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.Column('corpus_id', sa.Uuid(), nullable=False),
    sa.Column('embedding', pgvector.sqlalchemy.Vector(), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['chunk_id'], ['chunk.id'], name=op.f('fk_chunk_vector_chunk_id_chunk'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['corpus_id'], ['corpus.id'], name=op.f('fk_chunk_vector_corpus_id_corpus'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_chunk_vector_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('chunk_id', 'model', name=op.f('pk_chunk_vector'))
    )
    op.create_index(op.f('ix_chunk_vector_corpus_id_model'), 'chunk_vector', ['corpus_id', 'model'], unique=False)
    op.create_index('ix_chunk_vector_hnsw_1024', 'chunk_vector', [sa.literal_column('(embedding::vector(1024)) vector_cosine_ops')], unique=False, postgresql_using='hnsw', postgresql_where=sa.text('vector_dims(embedding) = 1024'))
    op.create_index('ix_chunk_vector_hnsw_1536', 'chunk_vector', [sa.literal_column('(embedding::vector(1536)) vector_cosine_ops')], unique=False, postgresql_using='hnsw', postgresql_where=sa.text('vector_dims(embedding) = 1536'))
    op.create_index('ix_chunk_vector_hnsw_384', 'chunk_vector', [sa.literal_column('(embedding::vector(384)) vector_cosine_ops')], unique=False, postgresql_using='hnsw', postgresql_where=sa.text('vector_dims(embedding) = 384'))
    op.create_index('ix_chunk_vector_hnsw_768', 'chunk_vector', [sa.literal_column('(embedding::vector(768)) vector_cosine_ops')], unique=False, postgresql_using='hnsw', postgresql_where=sa.text('vector_dims(embedding) = 768'))
    op.create_table('evolution_eval_result',
    sa.Column('genome_id', sa.Uuid(), nullable=False),
    sa.Column('cycle_id', sa.Uuid(), nullable=False),
    sa.Column('question_id', sa.Uuid(), nullable=False),
    sa.Column('phase', sa.String(), nullable=False),
    sa.Column('replicate', sa.Integer(), nullable=False),
    sa.Column('query', sa.String(), nullable=False),
    sa.Column('response', sa.String(), nullable=False),
    sa.Column('judge_score', sa.Double(), nullable=True),
    sa.Column('unscored_reason', sa.String(), nullable=True),
    sa.Column('criteria', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('judge_reasoning', sa.String(), nullable=False),
    sa.Column('judge_raw', sa.String(), nullable=False),
    sa.Column('bonus', sa.Double(), nullable=False),
    sa.Column('latency_ms', sa.Double(), nullable=False),
    sa.Column('answer_key', sa.String(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.CheckConstraint("phase in ('search', 'confirm', 'session')", name=op.f('ck_evolution_eval_result_phase')),
    sa.CheckConstraint('(judge_score is null) = (unscored_reason is not null)', name=op.f('ck_evolution_eval_result_missing')),
    sa.CheckConstraint('judge_score between 0 and 10', name=op.f('ck_evolution_eval_result_judge_score')),
    sa.CheckConstraint('length(response) <= 2000', name=op.f('ck_evolution_eval_result_response')),
    sa.ForeignKeyConstraint(['cycle_id'], ['cycle.id'], name=op.f('fk_evolution_eval_result_cycle_id_cycle'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['genome_id'], ['evolution_genome.id'], name=op.f('fk_evolution_eval_result_genome_id_evolution_genome'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_evolution_eval_result_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_evolution_eval_result')),
    sa.UniqueConstraint('genome_id', 'cycle_id', 'phase', 'question_id', 'replicate', name=op.f('uq_evolution_eval_result_genome_id_cycle_id_phase_question_id_replicate'))
    )
    op.create_index('ix_evolution_eval_result_cycle_id', 'evolution_eval_result', ['cycle_id', 'genome_id', 'phase'], unique=False)
    op.create_table('paid_answer',
    sa.Column('key', sa.String(), nullable=False),
    sa.Column('cycle_id', sa.Uuid(), nullable=False),
    sa.Column('answer', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('chunks', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('latency_ms', sa.Double(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['cycle_id'], ['cycle.id'], name=op.f('fk_paid_answer_cycle_id_cycle'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_paid_answer_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('key', name=op.f('pk_paid_answer'))
    )
    op.create_table('paid_call',
    sa.Column('key', sa.String(), nullable=False),
    sa.Column('cycle_id', sa.Uuid(), nullable=False),
    sa.Column('role', sa.String(), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.Column('state', sa.String(), nullable=False),
    sa.Column('reply', postgresql.JSONB(astext_type=sa.Text()), nullable=True),
    sa.Column('started_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.CheckConstraint("state in ('in_flight', 'done', 'lost_in_flight')", name=op.f('ck_paid_call_state')),
    sa.ForeignKeyConstraint(['cycle_id'], ['cycle.id'], name=op.f('fk_paid_call_cycle_id_cycle'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_paid_call_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('key', name=op.f('pk_paid_call'))
    )
    op.create_table('paid_verdict',
    sa.Column('key', sa.String(), nullable=False),
    sa.Column('cycle_id', sa.Uuid(), nullable=False),
    sa.Column('verdict', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('raw', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['cycle_id'], ['cycle.id'], name=op.f('fk_paid_verdict_cycle_id_cycle'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_paid_verdict_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('key', name=op.f('pk_paid_verdict'))
    )
    op.create_table('posting',
    sa.Column('corpus_id', sa.Uuid(), nullable=False),
    sa.Column('term', sa.String(), nullable=False),
    sa.Column('chunk_id', sa.Uuid(), nullable=False),
    sa.Column('tf', sa.Integer(), nullable=False),
    sa.Column('length', sa.Integer(), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['chunk_id'], ['chunk.id'], name=op.f('fk_posting_chunk_id_chunk'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['corpus_id'], ['corpus.id'], name=op.f('fk_posting_corpus_id_corpus'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_posting_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('corpus_id', 'term', 'chunk_id', name=op.f('pk_posting'))
    )
    op.create_index(op.f('ix_posting_chunk_id'), 'posting', ['chunk_id'], unique=False)
    op.create_table('question_use',
    sa.Column('question_id', sa.Uuid(), nullable=False),
    sa.Column('domain', sa.String(), nullable=False),
    sa.Column('layer', sa.String(), nullable=False),
    sa.Column('role', sa.String(), nullable=False),
    sa.Column('cycle_id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.CheckConstraint("role in ('search', 'confirm')", name=op.f('ck_question_use_role')),
    sa.ForeignKeyConstraint(['cycle_id'], ['cycle.id'], name=op.f('fk_question_use_cycle_id_cycle'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['question_id'], ['question.id'], name=op.f('fk_question_use_question_id_question'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_question_use_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('question_id', 'domain', 'layer', name=op.f('pk_question_use'))
    )
    op.create_table('approval_decision',
    sa.Column('approval_id', sa.Uuid(), nullable=False),
    sa.Column('verdict', sa.String(), nullable=False),
    sa.Column('actor', sa.String(), nullable=False),
    sa.Column('reason', sa.String(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.CheckConstraint("verdict in ('approved', 'rejected', 'void')", name=op.f('ck_approval_decision_verdict')),
    sa.CheckConstraint('length(reason) >= 10', name=op.f('ck_approval_decision_reason')),
    sa.ForeignKeyConstraint(['approval_id'], ['approval.id'], name=op.f('fk_approval_decision_approval_id_approval')),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenant.id'], name=op.f('fk_approval_decision_tenant_id_tenant')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_approval_decision')),
    sa.UniqueConstraint('approval_id', name=op.f('uq_approval_decision_approval_id'))
    )
    install_queue()
    for tenant, name in ((DEFAULT_TENANT, "default"), (LAB_TENANT, "lab")):
        op.execute(f"insert into tenant (id, name, created_at) values ('{tenant}', '{name}', now())")
    isolate_tenants()
    protect_history()
    grant_to_service()


def downgrade() -> None:
    remove_queue()
    op.drop_table('approval_decision')
    op.drop_table('question_use')
    op.drop_index(op.f('ix_posting_chunk_id'), table_name='posting')
    op.drop_table('posting')
    op.drop_table('paid_verdict')
    op.drop_table('paid_call')
    op.drop_table('paid_answer')
    op.drop_index('ix_evolution_eval_result_cycle_id', table_name='evolution_eval_result')
    op.drop_table('evolution_eval_result')
    op.drop_index('ix_chunk_vector_hnsw_768', table_name='chunk_vector', postgresql_using='hnsw', postgresql_where=sa.text('vector_dims(embedding) = 768'))
    op.drop_index('ix_chunk_vector_hnsw_384', table_name='chunk_vector', postgresql_using='hnsw', postgresql_where=sa.text('vector_dims(embedding) = 384'))
    op.drop_index('ix_chunk_vector_hnsw_1536', table_name='chunk_vector', postgresql_using='hnsw', postgresql_where=sa.text('vector_dims(embedding) = 1536'))
    op.drop_index('ix_chunk_vector_hnsw_1024', table_name='chunk_vector', postgresql_using='hnsw', postgresql_where=sa.text('vector_dims(embedding) = 1024'))
    op.drop_index(op.f('ix_chunk_vector_corpus_id_model'), table_name='chunk_vector')
    op.drop_table('chunk_vector')
    op.drop_table('approval')
    op.drop_table('cycle')
    op.drop_index(op.f('ix_chunk_corpus_id'), table_name='chunk')
    op.drop_table('chunk')
    op.drop_table('question')
    op.drop_table('profile')
    op.drop_table('document')
    op.drop_index(op.f('ix_cached_answer_tenant_id_fingerprint_question_key'), table_name='cached_answer')
    op.drop_table('cached_answer')
    op.drop_index('ix_trace_tenant_id_created_at', table_name='trace')
    op.drop_table('trace')
    op.drop_index('ix_ledger_entry_tenant_id_created_at', table_name='ledger_entry')
    op.drop_table('ledger_entry')
    op.drop_table('embedding_cache')
    op.drop_index('ix_deployment_domain_layer', table_name='deployment')
    op.drop_table('deployment')
    op.drop_table('corpus')
    op.drop_table('api_key')
    op.drop_table('admin_session')
    op.drop_table('tenant')
    op.drop_table('setup_link')
    op.drop_index('uq_evolution_genome_active', table_name='evolution_genome', postgresql_where=sa.text("status = 'active'"))
    op.drop_table('evolution_genome')
    op.drop_index('ix_audit_log_created_at', table_name='audit_log')
    op.drop_table('audit_log')
    op.drop_table('admin_user')
    op.execute("drop function genoma_keep_genome()")


TENANT_TABLES = (
    "approval", "approval_decision", "cached_answer", "chunk", "chunk_vector", "corpus", "cycle",
    "document", "embedding_cache", "evolution_eval_result", "ledger_entry", "paid_answer",
    "paid_call", "paid_verdict", "posting", "profile", "question", "question_use", "trace",
)
APPEND_ONLY = (
    "approval", "approval_decision", "audit_log", "deployment", "evolution_eval_result",
    "ledger_entry", "trace",
)
DEFAULT_TENANT = "00000000-0000-7000-8000-000000000001"
LAB_TENANT = "00000000-0000-7000-8000-000000000002"


def isolate_tenants() -> None:
    """Force row-level security: an unset tenant raises, also for the owner of the table."""
    for table in TENANT_TABLES:
        op.execute(f"alter table {table} enable row level security")
        op.execute(f"alter table {table} force row level security")
        op.execute(
            f"create policy tenant_only on {table} "
            "using (tenant_id = current_setting('genoma.tenant')::uuid) "
            "with check (tenant_id = current_setting('genoma.tenant')::uuid)"
        )


def protect_history() -> None:
    """Genomes change their status and nothing else; the books are never rewritten."""
    op.execute(
        """
        create function genoma_keep_genome() returns trigger language plpgsql as $$
        begin
            if (to_jsonb(new) - 'status') <> (to_jsonb(old) - 'status') then
                raise exception 'a genome is immutable: only its status may change';
            end if;
            return new;
        end $$
        """
    )
    op.execute(
        "create trigger keep_genome before update on evolution_genome "
        "for each row execute function genoma_keep_genome()"
    )


def grant_to_service() -> None:
    """`genoma_service` is what the service's login is a member of: it owns nothing."""
    op.execute(
        """
        do $$ begin
            if not exists (select from pg_roles where rolname = 'genoma_service') then
                create role genoma_service nologin nosuperuser nobypassrls;
            end if;
        exception when duplicate_object or unique_violation then null;
        end $$
        """
    )
    op.execute("grant usage on schema public to genoma_service")
    op.execute("grant select, insert, update, delete on all tables in schema public to genoma_service")
    op.execute("grant usage, select on all sequences in schema public to genoma_service")
    for table in APPEND_ONLY:
        op.execute(f"revoke update, delete on {table} from genoma_service")
    op.execute("revoke update, delete on evolution_genome from genoma_service")
    op.execute("grant update (status) on evolution_genome to genoma_service")
    op.execute("revoke insert, update, delete on alembic_version from genoma_service")


def install_queue() -> None:
    op.get_bind().exec_driver_sql(SchemaManager.get_schema().replace("%", "%%"))


def remove_queue() -> None:
    """Drop what the job queue's schema made: its functions go with its types and tables."""
    op.execute(
        """
        do $$ declare item record; begin
            for item in select tablename as name from pg_tables
                where schemaname = 'public' and tablename like 'procrastinate_%' loop
                execute format('drop table if exists %I cascade', item.name);
            end loop;
            for item in select oid::regprocedure as name from pg_proc
                where pronamespace = 'public'::regnamespace and proname like 'procrastinate_%' loop
                execute format('drop function if exists %s cascade', item.name);
            end loop;
            for item in select typname as name from pg_type
                where typnamespace = 'public'::regnamespace
                and typname like 'procrastinate_%' loop
                execute format('drop type if exists %I cascade', item.name);
            end loop;
        end $$
        """
    )
