-- A run that goes again counts as open where it belongs to.
-- $1 run
select koken.count_open(c.parent_id) from koken.run c where c.id = $1::bigint and c.parent_id is not null
