"""The queue's schema is its library's, word for word: a new release of that may need a schema file of ours."""

from procrastinate.schema import SchemaManager

from keepword.postgres import schema


def test_the_queue_s_schema_is_the_one_that_the_library_ships():
    (file,) = (file for file in schema.tables() if file.name == "0010_job_queue")
    assert file.text.decode() == SchemaManager.get_schema(), (
        "add a schema file that runs the library's new migrations; 0010_job_queue.sql stays as it ran"
    )
