-- $1 run  $2 lease  $3 the state that it ends in  $4 error  $5 names  $6 runs that are undone  $7 attempts
select state, queue_ids
  from koken.undo_run($1::bigint, $2::int, $3, $4::jsonb, $5::text[], $6::bigint[], $7::int[])
