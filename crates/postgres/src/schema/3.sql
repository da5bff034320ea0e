-- The seq up to which the node has applied the journal's own stream: nothing that it starts
-- overlooks a pause up to there. A node without a value starts nothing, such as a command. Nodes of
-- an earlier program start calls, and never set it.
ALTER TABLE {schema}.node ADD COLUMN applied bigint DEFAULT 0;
ALTER TABLE {schema}.node ALTER COLUMN applied DROP DEFAULT;
