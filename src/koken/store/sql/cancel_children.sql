-- $1 parents  $2 reason
select unasked, queue_ids, lock_ids from koken.cancel_children($1::bigint[], $2)
