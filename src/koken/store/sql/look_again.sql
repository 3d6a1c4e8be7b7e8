-- $1 run
select queue_ids, lock_ids from koken.look_again($1::bigint)
