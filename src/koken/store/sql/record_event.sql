-- $1 workspace; null: that of the run or of the job, else GLOBAL  $2 verb  $3 by  $4 reason  $5 run  $6 job
-- $7 detail
insert into koken.event (workspace_id, verb, by, reason, run_id, job_id, detail)
values (coalesce($1::int, (select workspace_id from koken.run where id = $5::bigint),
                 (select workspace_id from koken.job where id = $6::int), 2),
        $2, $3, $4, $5::bigint, $6::int, $7::jsonb)
