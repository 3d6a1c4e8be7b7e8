-- $1 name  $2 paused?  $3 by  $4 reason
with q as (
  update koken.queue
     set paused_at = case when $2::boolean then coalesce(paused_at, koken.now()) end,
         paused_by = case when $2::boolean then coalesce(paused_by, $3) end,
         pause_reason = case when $2::boolean then coalesce(pause_reason, $4) end
   where name = $1
  returning id, name),
recorded as (
  insert into koken.event (workspace_id, verb, by, reason, detail)
  select 2, case when $2::boolean then 'pause' else 'resume' end, $3, $4,
         jsonb_build_object('queue', name) from q),
told as (select pg_notify('koken', 'ready ' || id) from q where not $2::boolean)
select q.id, (select count(*) from told) as told from q
