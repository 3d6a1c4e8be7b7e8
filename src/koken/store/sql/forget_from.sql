-- $1 run  $2 step
select koken.forget_from($1::bigint, $2)
