-- $1 run  $2 lease
select state, queue_ids, lock_ids from koken.reopen_child($1::bigint, $2::int)
