-- The streams of each owner. A node looks at those whose owner is gone, or is the nil id: they were
-- released, and no node has looked whether they need another owner. Those without an owner need
-- none before their next deadline. Appends change no owner, so they need not touch the index.
CREATE INDEX head_owned ON {schema}.head (owner, session) WHERE owner IS NOT NULL;

-- Until this version, a stream that was released had no owner, whatever it needed.
UPDATE {schema}.head h SET owner = '00000000-0000-0000-0000-000000000000'
WHERE h.owner IS NULL AND h.session <> '00000000-0000-0000-0000-000000000000'
    AND EXISTS (SELECT FROM {schema}.work w WHERE w.session = h.session);

-- Each deadline is found in `work_due`, and what needs a node by its stream.
DROP INDEX {schema}.work_flagged;
