-- $1 run  $2 other arguments
select koken.run_again($1::bigint, $2::jsonb) as state
