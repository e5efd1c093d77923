-- The processes that serve and work, and since when each has the memory that it has: an erasure is forgotten once none is
-- left that was there before its rows were gone.
CREATE TABLE processes (
    service uuid NOT NULL,
    number integer NOT NULL,
    since timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (service, number)
);
ALTER TABLE processes ENABLE ROW LEVEL SECURITY;
ALTER TABLE erasures ADD forgotten_at timestamptz CHECK (forgotten_at IS NULL OR state = 'done');
-- whoever runs this schema began after them
UPDATE erasures SET forgotten_at = clock_timestamp() WHERE state = 'done';
CREATE INDEX erasures_remembered ON erasures (erased_at) WHERE forgotten_at IS NULL AND erased_at IS NOT NULL;
