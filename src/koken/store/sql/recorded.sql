-- What a body has recorded, in its order.
-- $1 run
select key from koken.checkpoint where run_id = $1::bigint
 order by coalesce(nullif(ordinal, 0), 2147483647), at, key
