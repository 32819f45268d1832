-- An experiment's own measurements are runs as well; a list leaves them out.
ALTER TABLE run ADD COLUMN part_of TEXT;
CREATE INDEX run_by_experiment ON run (part_of) WHERE part_of IS NOT NULL;

-- of an experiment: how many hypotheses have each answer, kept up to date while it goes on
ALTER TABLE run ADD COLUMN better        INTEGER;
ALTER TABLE run ADD COLUMN worse         INTEGER;
ALTER TABLE run ADD COLUMN no_difference INTEGER;
ALTER TABLE run ADD COLUMN undecided     INTEGER;
ALTER TABLE run ADD COLUMN not_measured  INTEGER;
-- and why it is over
ALTER TABLE run ADD COLUMN over          TEXT;
