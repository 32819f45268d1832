-- Puts the clinic back to its first rows between two measurements: no page changes a row, `POST /owners/new` only adds
-- owners. The tables are written anew rather than cleared by DELETE, which would leave dead rows behind for the
-- next measurement to read over and the server to clean up in the midst of it. Ids start where they did.
BEGIN;
-- Rows come back under their own ids, so in any order.
CREATE TEMPORARY TABLE first_owners ON COMMIT DROP AS SELECT * FROM owners WHERE id <= 1000;
CREATE TEMPORARY TABLE first_pets ON COMMIT DROP AS SELECT * FROM pets WHERE owner_id <= 1000;
CREATE TEMPORARY TABLE first_visits ON COMMIT DROP AS SELECT visits.* FROM visits JOIN first_pets ON first_pets.id = pet_id;
TRUNCATE visits, pets, owners;
INSERT INTO owners SELECT * FROM first_owners ORDER BY id;
INSERT INTO pets SELECT * FROM first_pets ORDER BY id;
INSERT INTO visits SELECT * FROM first_visits ORDER BY id;
SELECT setval(pg_get_serial_sequence('owners', 'id'), 1000);
COMMIT;
ANALYZE owners, pets, visits;
