-- $1 lock ids
select koken.grant_locks($1::bigint[]) as queue_id
