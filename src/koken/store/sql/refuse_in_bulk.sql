-- $1 bulk  $2 run  $3 why
update koken.bulk_run set at = koken.now(), refusal = $3 where bulk_id = $1::bigint and run_id = $2::bigint and at is null
