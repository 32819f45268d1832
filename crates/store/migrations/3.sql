-- Of a run that asks the machine itself: its verdict, as record::Verdict in JSON. NULL of all others.
ALTER TABLE run ADD COLUMN verdict TEXT;
