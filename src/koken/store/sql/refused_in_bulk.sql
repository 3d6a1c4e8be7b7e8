-- Runs of a bulk that were left as they are, and why.
-- $1 bulk
select run_id, refusal from koken.bulk_run where bulk_id = $1::bigint and refusal is not null
