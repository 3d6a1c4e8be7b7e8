-- $1 parents  $2 reason  $3 rules of steps that are spared
select unasked, below_ids, queue_ids, lock_ids from koken.cancel_children($1::bigint[], $2, $3::text[])
