-- $1 workspace  $2 name  $3 job  $4 scheme  $5 argument  $6 by  $7 reason
with w as (select id from koken.workspace where name = $1),
made as (
  insert into koken.hook (workspace_id, name, job, scheme, argument, created_by)
  select w.id, $2, $3, $4, $5, $6 from w
  on conflict (name) where removed_at is null do nothing
  returning id, workspace_id, name, job, scheme, salt),
recorded as (
  insert into koken.event (workspace_id, verb, by, reason, detail)
  select workspace_id, 'add hook', $6, $7, jsonb_build_object('hook', name, 'job', job, 'scheme', scheme) from made)
select id, scheme, salt from made
