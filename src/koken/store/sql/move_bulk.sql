-- $1 bulk  $2 state  $3 from these  $4 verb  $5 by  $6 reason
with b as materialized (select id, workspace_id, state, query from koken.bulk where id = $1::bigint for update),
moved as (
  update koken.bulk set state = $2, stopped_reason = case when $2 = 'stopped' then coalesce($6, 'by ' || $5) end,
         finished_at = case when $2 = 'stopped' then koken.now() end, next_at = koken.now(),
         checked_from = case when $4 = 'resume' then koken.now() else bulk.checked_from end
    from b where bulk.id = b.id and b.state = any($3::text[])
  returning bulk.id),
recorded as (
  insert into koken.event (workspace_id, verb, by, reason, detail)
  select b.workspace_id, 'bulk ' || $4, $5, $6, jsonb_build_object('bulk', b.id::text, 'query', b.query)
    from b join moved on moved.id = b.id)
select (select state from b) as was, exists (select from moved) as moved
