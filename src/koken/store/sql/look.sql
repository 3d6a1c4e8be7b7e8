-- A run as a claim gives it, without claiming it.
-- $1 run
select r.id, r.lease, r.attempt, r.max_attempts, r.infra_attempt, r.max_infra_attempts, r.job_id,
       r.workspace_id, r.queue_id, r.root_id, r.rank, r.priority, r.subject, r.trigger_kind,
       r.trigger_by, r.schedule_id, r.since_at, r.logical_at, r.overlap,
       r.overlap_key, extract(epoch from r.deadline_at - koken.now())::float8 as seconds_left,
       case when r.args is null
            then (select a.args::text from koken.run_args a where a.run_id = r.id)
            else r.args::text end as args,
       r.version_id, r.parent_id, r.step_no, r.step, r.need_rule is not null as is_step, r.undoes_id,
       r.made, r.wake_below is null as reopens, r.settle, r.unwind is true as unwind,
       r.cancel_requested_at is not null as cancelling, r.hooks is true as hooks,
       case when r.parent_id is not null
            then (select p.parent_id from koken.run p where p.id = r.parent_id) end as grandparent_id
  from koken.run r
 where r.id = $1::bigint
