-- Holds rows still, those farthest down first, and says how they stand.
-- $1 runs
select id, state, lease from koken.run where id = any($1::bigint[]) order by id desc for update
