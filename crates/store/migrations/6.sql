-- How often the target stood still, and how long at most; none of runs from before this was kept.
ALTER TABLE run ADD COLUMN freezes           INTEGER;
ALTER TABLE run ADD COLUMN longest_freeze_ns INTEGER;
