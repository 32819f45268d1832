-- What an experiment answered, by the arms that were asked about; none of runs from before this was kept.
ALTER TABLE run ADD COLUMN arms TEXT;
