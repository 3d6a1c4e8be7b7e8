-- How runs stand whose finish changed nothing: delivered before, or taken from us.
-- $1 ids
select id, lease, state, worker_id from koken.run where id = any($1::bigint[])
