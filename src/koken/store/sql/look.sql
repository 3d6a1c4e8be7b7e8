-- A run as a claim gives it, without claiming it.
-- $1 run
select r.id, r.lease, r.attempt, r.max_attempts, r.infra_attempt, r.max_infra_attempts, r.job_id,
       r.workspace_id, r.queue_id, r.root_id, r.rank, r.priority, r.subject, r.trigger_kind,
       r.trigger_by, r.schedule_id, r.since_at, r.logical_at, r.overlap,
       r.overlap_key, extract(epoch from r.deadline_at - koken.now())::float8 as seconds_left,
       case when r.args is null
            then (select a.args::text from koken.run_args a where a.run_id = r.id)
            else r.args::text end as args,
       r.version_id, koken.part_of(r)::text as part
  from koken.run r
 where r.id = $1::bigint
