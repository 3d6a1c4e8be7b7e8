-- $1 bulk  $2 run
update koken.bulk_run set at = koken.now() where bulk_id = $1::bigint and run_id = $2::bigint and at is null
returning run_id
