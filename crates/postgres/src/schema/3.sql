
-- The streams that requests with keys open. A repetition at another node, or after a restart, finds
-- the first one here.
CREATE TABLE {schema}.opening (
    key     bytea PRIMARY KEY,
    session uuid NOT NULL,
    request bytea NOT NULL,
    at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX opening_at ON {schema}.opening (at);
