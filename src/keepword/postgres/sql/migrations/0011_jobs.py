"""The job queue's own schema, as the library ships it, in ours."""

from procrastinate.schema import SchemaManager
from yoyo import step

steps = [step(lambda conn: conn.cursor().execute(SchemaManager.get_schema()))]
