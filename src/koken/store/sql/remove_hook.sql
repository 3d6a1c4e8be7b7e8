-- $1 name  $2 workspace; null: any  $3 by  $4 reason
with h as (
  update koken.hook h set removed_at = koken.now()
   where h.name = $1 and h.removed_at is null
     and ($2::text is null or h.workspace_id = (select id from koken.workspace where name = $2))
  returning h.id, h.workspace_id, h.name),
recorded as (
  insert into koken.event (workspace_id, verb, by, reason, detail)
  select workspace_id, 'remove hook', $3, $4, jsonb_build_object('hook', name) from h)
select id from h
