-- The application works the queue: jobs hold ids only, never a word of what was said.

GRANT SELECT, INSERT, UPDATE, DELETE
    ON procrastinate_jobs, procrastinate_workers, procrastinate_events, procrastinate_periodic_defers TO keepword_app;
GRANT USAGE ON SEQUENCE
    procrastinate_jobs_id_seq, procrastinate_workers_id_seq, procrastinate_events_id_seq,
    procrastinate_periodic_defers_id_seq TO keepword_app;

-- for the question whether a conversation's job is there already; the library asks it as well, for every job it fetches
CREATE INDEX jobs_by_lock ON procrastinate_jobs (lock);
