"""The one store: PostgreSQL with pgvector and pg_trgm, embedded or any other."""
