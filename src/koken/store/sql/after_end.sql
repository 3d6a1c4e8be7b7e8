-- $1 runs that have just ended
select queue_ids, lock_ids from koken.after_end($1::bigint[])
