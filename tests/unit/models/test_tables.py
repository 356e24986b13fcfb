"""What all tables have in common."""

from models.tables import Base, tenant_tables

LAB_WIDE = {
    "admin_session",
    "admin_user",
    "api_key",
    "audit_log",
    "deployment",
    "endpoint",
    "endpoint_lease",
    "evolution_genome",
    "gene_bank",
    "proof_book",
    "setup_link",
    "tenant",
}


def test_a_table_belongs_to_a_tenant_unless_it_is_named_here() -> None:
    assert set(Base.metadata.tables) - set(tenant_tables()) == LAB_WIDE


def test_every_time_is_aware() -> None:
    times = [
        column
        for table in Base.metadata.tables.values()
        for column in table.columns
        if column.type.python_type.__name__ == "datetime"
    ]
    assert times
    assert all(getattr(column.type, "timezone", False) for column in times)
