-- $1 owner  $2 workspace  $3 job
delete from koken.star t
 using koken.workspace w, koken.job j
 where t.owner = $1 and w.name = $2 and w.id = t.workspace_id and j.id = t.job_id and j.name = $3
