-- Who has a lock, each with its run as it stands; a run that is gone has no state.
-- $1 workspace  $2 kind  $3 key
select k.id as lock_id, k.workspace_id, h.run_id, h.granted_at, r.state, r.cancel_requested_at is not null as cancelling,
       r.finished_at is null and r.id is not null as live, j.name as job
  from koken.lock k
  join koken.workspace w on w.id = k.workspace_id
  left join koken.hold h on h.lock_id = k.id and h.granted_at is not null
  left join koken.run r on r.id = h.run_id
  left join koken.job j on j.id = r.job_id
 where w.name = $1 and k.kind = $2 and k.key = $3
 order by h.granted_at, h.run_id
