-- The journal's tables. `{schema}` is the quoted name of its schema.

-- The version of these tables, and who made them.
CREATE TABLE {schema}.format (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    version    integer NOT NULL,
    written_by text NOT NULL
);

-- The processes that write, or wrote. A node whose time has passed never comes back: a process that
-- goes on registers a new one.
CREATE TABLE {schema}.node (
    id    uuid PRIMARY KEY,
    name  text NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    until timestamptz NOT NULL
);

-- The last record of each stream, and its only writer. The stream with the nil id has none. What
-- changes with each append comes last: the log of an update leaves out the common start.
CREATE TABLE {schema}.head (
    session uuid   NOT NULL PRIMARY KEY,
    owner   uuid,
    epoch   bigint NOT NULL,
    seq     bigint NOT NULL,
    at_us   bigint NOT NULL,
    hash    bytea  NOT NULL
) PARTITION BY HASH (session);

-- The records, one row an append: the lines, with a line feed between two.
CREATE TABLE {schema}.append (
    session uuid   NOT NULL,
    first   bigint NOT NULL,
    last    bigint NOT NULL,
    lines   bytea  NOT NULL,
    PRIMARY KEY (session, first)
) PARTITION BY HASH (session);

-- The transactions that appended, in an order that agrees with every stream. The position is given
-- later, without gaps, by the holder of the row of `sequencer`.
CREATE TABLE {schema}.batch (
    id       bigint PRIMARY KEY,
    position bigint UNIQUE,
    sessions uuid[]   NOT NULL,
    firsts   bigint[] NOT NULL
);
CREATE INDEX batch_without_position ON {schema}.batch (id) WHERE position IS NULL;
CREATE SEQUENCE {schema}.batch_id CACHE 1;
CREATE TABLE {schema}.sequencer (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    position bigint NOT NULL
);
INSERT INTO {schema}.sequencer (position) VALUES (0);

-- The contents that records name by their hash.
CREATE TABLE {schema}.object (
    hash    bytea PRIMARY KEY,
    content bytea NOT NULL
) PARTITION BY HASH (hash);

-- The open items of all sessions.
CREATE TABLE {schema}.work (
    session     uuid   NOT NULL,
    item        bigint NOT NULL,
    since_us    bigint NOT NULL,
    deadline_us bigint,
    flags       bigint NOT NULL,
    request     uuid,
    kind        text   NOT NULL,
    PRIMARY KEY (session, item)
) PARTITION BY HASH (session);
CREATE INDEX work_of_kind ON {schema}.work (kind, session, item);
CREATE INDEX work_flagged ON {schema}.work (session) WHERE flags <> 0;
CREATE INDEX work_due ON {schema}.work (deadline_us, session, item) WHERE deadline_us IS NOT NULL;

-- The request ids of all items that ever were, so that a late answer finds its question.
CREATE TABLE {schema}.request (
    request uuid   PRIMARY KEY,
    session uuid   NOT NULL,
    item    bigint NOT NULL
) PARTITION BY HASH (request);

-- Requests to the owners of sessions. A request without a reply waits, or is under way at `taker`.
-- The append that carries it out sets `done`, the seq of the outcome. No node takes it after
-- `until`.
CREATE TABLE {schema}.command (
    session uuid NOT NULL,
    id      uuid NOT NULL,
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    until   timestamptz NOT NULL,
    taker   uuid,
    done    bigint,
    request text NOT NULL,
    reply   text,
    PRIMARY KEY (session, id)
) PARTITION BY HASH (session);
CREATE INDEX command_open ON {schema}.command (session) WHERE reply IS NULL;

-- Folded sessions. They may be lost at any time, so they cost no write-ahead log.
CREATE UNLOGGED TABLE {schema}.snapshot (
    session uuid PRIMARY KEY,
    bytes   bytea NOT NULL
);

DO $$
DECLARE
    part integer;
    -- Each statement opens all parts of a table. With four, an append alone takes a twentieth less
    -- of the server's CPU time than with eight.
    parts constant integer := 4;
    parent text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['head', 'append', 'object', 'work', 'request', 'command'] LOOP
        FOR part IN 0 .. parts - 1 LOOP
            EXECUTE format(
                'CREATE TABLE %s.%I PARTITION OF %s.%I FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
                '{schema}', parent || '_' || part, '{schema}', parent, parts, part);
            -- A head is updated by every append: room for its next versions on its own page.
            IF parent = 'head' THEN
                EXECUTE format('ALTER TABLE %s.%I SET (fillfactor = 50)',
                    '{schema}', parent || '_' || part);
            -- Long appends are compressed in their row. A row in a table for long values would cost
            -- a tenth more of the log.
            ELSIF parent = 'append' THEN
                EXECUTE format('ALTER TABLE %s.%I ALTER COLUMN lines SET STORAGE MAIN',
                    '{schema}', parent || '_' || part);
                BEGIN
                    EXECUTE format('ALTER TABLE %s.%I ALTER COLUMN lines SET COMPRESSION lz4',
                        '{schema}', parent || '_' || part);
                EXCEPTION WHEN OTHERS THEN
                    -- This server was built without lz4.
                    NULL;
                END;
            END IF;
        END LOOP;
    END LOOP;
END $$;
