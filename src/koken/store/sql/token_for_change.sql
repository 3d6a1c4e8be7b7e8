-- Tokens that nobody has revoked; a name may be that of several, each in another workspace.
-- $1 name or number
select t.id, t.name, t.hint, t.workspace_id, coalesce(w.name, '*') as place
  from koken.token t left join koken.workspace w on w.id = t.workspace_id
 where (lower(t.name) = lower($1) or t.id::text = $1) and t.revoked_at is null
 order by t.id
   for update of t
