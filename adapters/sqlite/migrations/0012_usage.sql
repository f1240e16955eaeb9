-- What a turn has cost, and whose failure it was, as far as its agent tells.

ALTER TABLE turns ADD COLUMN usage TEXT;
UPDATE turns SET failure = json_set(failure, '$.provider', json('null'), '$.model', json('null'))
WHERE failure IS NOT NULL;
