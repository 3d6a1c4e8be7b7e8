-- A run that succeeds closes the failures of its job, or of its key, that came before it.
-- $1 ids of runs that may have succeeded
update koken.run f
   set acknowledged_at = koken.now(), acknowledged_by = 'run ' || r.id
  from koken.run r
 where r.id = any($1::bigint[]) and case when r.state = 'succeeded' then true end
   and f.workspace_id = r.workspace_id and f.job_id = r.job_id and f.id < r.id
   and f.state in ('failed', 'cancelled') and f.acknowledged_at is null and f.parent_id is null
   and f.overlap_key is not distinct from r.overlap_key
