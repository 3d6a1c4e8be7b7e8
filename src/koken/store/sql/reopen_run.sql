-- $1 run  $2 lease  $3 whether the first failure stops the others
select state, queue_ids, lock_ids from koken.reopen_run($1::bigint, $2::int, $3::boolean)
