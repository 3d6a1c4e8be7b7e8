-- $1 run  $2 by  $3 reason  $4 other arguments
select koken.retry_run($1::bigint, $2, $3, $4::jsonb) as state
