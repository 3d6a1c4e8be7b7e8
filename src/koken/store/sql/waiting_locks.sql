-- $1 run ids
select distinct lock_id from koken.hold where run_id = any($1::bigint[]) and granted_at is null
