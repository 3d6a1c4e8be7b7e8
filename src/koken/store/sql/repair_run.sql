-- Runs as a repair looks at them.
-- $1 runs
select r.id, r.parent_id, r.workspace_id, r.job_id, j.name as job, r.version_id, r.step_no, r.step, r.state,
       r.lease, r.attempt, r.max_attempts, r.made, r.settle, r.need_rule is not null as is_step, r.undoes_id,
       r.open_needs is not null as held, r.wait_cause, r.wait_for, r.cancel_requested_at is not null as cancelling,
       r.started_at, r.finished_at, r.has_locks, coalesce(r.open_children, 0) as open_children, r.unwind is true as unwind,
       r.not_before_at, r.logical_at,
       (select count(*)::int from koken.run i where i.parent_id = r.id and i.state = 'succeeded' and i.undoes_id is null
           and r.at_once is not null) as good_items,
       case jsonb_typeof(r.result) when 'array' then jsonb_array_length(r.result) end as length
  from koken.run r join koken.job j on j.id = r.job_id
 where r.id = any($1::bigint[])
 order by r.id
