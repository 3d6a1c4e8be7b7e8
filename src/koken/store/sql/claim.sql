-- Takes ready runs in known lanes (queue × workspace), from each lane's mark upwards. The mark keeps
-- the scan flat when a neighbour's old transaction makes the ready index rot.
-- $1 worker  $2 queue ids  $3 workspace ids  $4 marks  $5 how many from each lane
-- $6 jobs that the worker's program does not have
with c as materialized (
  select x.id
    from unnest($2::int[], $3::int[], $4::timestamptz[], $5::int[]) l (queue_id, workspace_id, mark, n)
    join koken.queue q on q.id = l.queue_id
     and q.paused_at is null and q.max_running is null and q.rate is null,
    lateral (
      select id from koken.run
       where state = 'ready' and queue_id = l.queue_id and workspace_id = l.workspace_id
         and rank >= l.mark and job_id <> all($6::int[])
       order by rank, id
       limit l.n
         for update skip locked) x)
update koken.run r
   set state = 'running', lease = r.lease + 1, attempt = r.attempt + 1, worker_id = $1::int,
       started_at = coalesce(r.started_at, koken.now()), claimed_at = koken.now(),
       start_deadline_at = null
  from c
 where r.id = c.id
   and case when r.state = 'ready' then true end
   and exists (select from koken.worker where id = $1::int and lost_at is null)
returning r.id, r.lease, r.attempt, r.max_attempts, r.infra_attempt, r.max_infra_attempts, r.job_id,
          r.workspace_id, r.queue_id, r.root_id, r.rank, r.priority, r.subject, r.trigger_kind,
          r.trigger_by, r.schedule_id, r.since_at, r.logical_at, r.overlap,
          r.overlap_key, extract(epoch from r.deadline_at - koken.now())::float8 as seconds_left,
          case when r.args is null
               then (select a.args::text from koken.run_args a where a.run_id = r.id)
               else r.args::text end as args,
          r.version_id, koken.part_of(r)::text as part
