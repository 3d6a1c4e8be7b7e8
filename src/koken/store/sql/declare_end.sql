-- $1 run  $2 state  $3 result  $4 error
select koken.declare_end($1::bigint, $2, $3::jsonb, $4::jsonb) as lock_ids
