-- One row for each run. Everything but `key` and `writer_*` is taken from the run's own events,
-- so that a list needs to read none of them.
CREATE TABLE run (
    key              INTEGER PRIMARY KEY,
    id               TEXT    NOT NULL UNIQUE,
    started_unix_ms  INTEGER NOT NULL,
    ended_unix_ms    INTEGER,
    command          TEXT    NOT NULL,
    target           TEXT    NOT NULL,
    goal             TEXT    NOT NULL,
    version          TEXT    NOT NULL,
    method           INTEGER NOT NULL,
    exit_code        INTEGER,
    error            TEXT,
    -- of a search: the strict goal's bounds, kept up to date while it goes on
    limit_goal       TEXT,
    lower            REAL,
    upper            REAL,
    unit             TEXT,
    search_ended     TEXT,
    -- of a load: 1 met, 0 not met, NULL not trustworthy
    goal_met         INTEGER,
    loss             REAL,
    -- who writes it, to tell a run that goes on from one that was cut short
    writer_boot      TEXT    NOT NULL,
    writer_pid       INTEGER NOT NULL,
    writer_start     INTEGER NOT NULL
) STRICT;

CREATE INDEX run_by_time ON run (started_unix_ms);

-- The run itself: its events in order, as JSON.
CREATE TABLE event (
    run   INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
    seq   INTEGER NOT NULL,
    json  TEXT    NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT;
