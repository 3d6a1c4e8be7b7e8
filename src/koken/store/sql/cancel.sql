-- $1 run  $2 by  $3 reason
select verdict, queue_ids, lock_ids from koken.cancel_run($1::bigint, $2, $3)
