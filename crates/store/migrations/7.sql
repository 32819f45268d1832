-- What a load came to, and what the building blocks that torment probe measured cost; none of runs from before this was kept.
ALTER TABLE run ADD COLUMN offered         REAL;
ALTER TABLE run ADD COLUMN answered        REAL;
ALTER TABLE run ADD COLUMN response_p99_ns INTEGER;
ALTER TABLE run ADD COLUMN costs           TEXT;
