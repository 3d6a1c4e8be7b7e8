-- $1 name or number
select t.id, t.name, t.hint, t.workspace_id, coalesce(w.name, '*') as workspace
  from koken.token t left join koken.workspace w on w.id = t.workspace_id
 where (lower(t.name) = lower($1) or t.id::text = $1) and t.revoked_at is null
 order by t.id::text = $1 desc
 limit 1
   for update of t
