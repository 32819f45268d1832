-- What people call a run: its name, its tags as a JSON list, the commit that was checked out.
ALTER TABLE run ADD COLUMN name       TEXT;
ALTER TABLE run ADD COLUMN tags       TEXT;
ALTER TABLE run ADD COLUMN git_commit TEXT;
CREATE INDEX run_by_name ON run (name, started_unix_ms) WHERE name IS NOT NULL;

-- Where it was made. Of earlier runs this stands in their first event.
ALTER TABLE run ADD COLUMN host      TEXT;
ALTER TABLE run ADD COLUMN processor TEXT;
ALTER TABLE run ADD COLUMN cpus      INTEGER;
UPDATE run SET (host, processor, cpus) = (
    SELECT json_extract(json, '$.machine.host'),
           json_extract(json, '$.machine.processor'),
           CAST(json_extract(json, '$.machine.cpus') AS INTEGER)
    FROM event WHERE event.run = run.key AND seq = 0 AND json_valid(json)
);
