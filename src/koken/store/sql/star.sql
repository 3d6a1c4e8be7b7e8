-- $1 owner  $2 workspace  $3 job
insert into koken.star (owner, workspace_id, job_id)
select $1, w.id, j.id
  from koken.workspace w
  join koken.job j on j.workspace_id in (2, w.id) and j.name = $3
 where w.name = $2
on conflict do nothing
