-- Runs whose figures mean the same: of one command, target, plan and method, made on one machine. What they have in common stands
-- here once. The measurements of an experiment have their design to compare them.
CREATE TABLE alike (
    key   INTEGER PRIMARY KEY,
    what  TEXT    NOT NULL UNIQUE
) STRICT;
ALTER TABLE run ADD COLUMN alike INTEGER REFERENCES alike (key);

-- of a search: the rate that is held, between lower and upper
ALTER TABLE run ADD COLUMN held REAL;

-- The way to the run before: of those alike that came to a limit with both ends.
CREATE INDEX run_by_limit ON run (alike, started_unix_ms)
    WHERE search_ended IS NOT NULL AND lower IS NOT NULL AND upper IS NOT NULL;

-- Of earlier runs the plan stands in their first event, and what was held in their last. A torn event is no JSON.
CREATE TEMP TABLE begun AS
SELECT run.key AS run, json_array(command, target, json_extract(json, '$.plan'), method, host, processor, cpus) AS what
FROM run JOIN event ON event.run = run.key AND seq = 0
WHERE part_of IS NULL AND CASE WHEN json_valid(json) THEN json_extract(json, '$.plan') IS NOT NULL END;
INSERT INTO alike (what) SELECT DISTINCT what FROM begun;
UPDATE run SET alike = alike.key FROM begun JOIN alike USING (what) WHERE begun.run = run.key;
DROP TABLE begun;
UPDATE run SET held = (
    SELECT CASE WHEN json_valid(json) THEN json_extract(json, '$.verdict.limits[0].held') END
    FROM event WHERE event.run = run.key AND json LIKE '{"event":"run_ended",%' ORDER BY seq DESC LIMIT 1
) WHERE search_ended IS NOT NULL;
