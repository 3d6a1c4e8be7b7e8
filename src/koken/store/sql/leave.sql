-- A worker that has handed everything back says good-bye.
-- $1 worker
update koken.worker set stopped_at = koken.now(), busy = 0,
       cleared_at = case when exists (
         select from koken.run where worker_id = $1::int and state = 'running') then null else koken.now() end,
       lost_at = koken.now()
 where id = $1::int and stopped_at is null
