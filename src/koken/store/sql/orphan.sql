-- Runs whose worker's row is gone: the row is made again as a lost one, and rescue takes them over.
-- A worker that was given up with nothing left, and has something all the same, is looked at again.
with back as (
  update koken.worker w set cleared_at = null, lost_at = coalesce(lost_at, koken.now())
   where cleared_at is not null
     and exists (select from koken.run r where r.worker_id = w.id and r.state = 'running'))
insert into koken.worker (id, name, host, pid, app, version, queues, slots, lost_at)
select distinct r.worker_id, 'unknown', '', 0, '', '', '[]'::jsonb, 0, koken.now()
  from koken.run r
 where r.state = 'running' and not exists (select from koken.worker w where w.id = r.worker_id)
on conflict (id) do nothing
