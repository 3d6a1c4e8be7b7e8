-- $1 name  $2 workspace; null: any  $3 by  $4 reason
with h as (
  update koken.hook h set salt = gen_random_uuid()
   where h.name = $1 and h.removed_at is null
     and ($2::text is null or h.workspace_id = (select id from koken.workspace where name = $2))
  returning h.id, h.workspace_id, h.name, h.scheme, h.salt),
recorded as (
  insert into koken.event (workspace_id, verb, by, reason, detail)
  select workspace_id, 'rotate hook', $3, $4, jsonb_build_object('hook', name) from h)
select id, scheme, salt from h
