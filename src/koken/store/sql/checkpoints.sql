-- $1 run
select key, value::text as value from koken.checkpoint where run_id = $1::bigint order by at, key
