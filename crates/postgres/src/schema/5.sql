-- The number of streams that the node owned when it last renewed its lease. Streams that need a node
-- spread by it. Nodes of an earlier program never set it.
ALTER TABLE {schema}.node ADD COLUMN owned bigint NOT NULL DEFAULT 0;

-- The id under which the key store of the nodes has a key, so that a node with another store is
-- found before it seals anything. No stream has this id.
CREATE TABLE {schema}.key_store (
    one  boolean PRIMARY KEY DEFAULT true CHECK (one),
    mark uuid NOT NULL
);
