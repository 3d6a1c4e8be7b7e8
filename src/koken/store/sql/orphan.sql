-- Runs whose worker's row is gone: the row is made again as a lost one, and rescue takes them over.
insert into koken.worker (id, name, host, pid, app, version, queues, slots, lost_at)
select distinct r.worker_id, 'unknown', '', 0, '', '', '[]'::jsonb, 0, koken.now()
  from koken.run r
 where r.state = 'running' and not exists (select from koken.worker w where w.id = r.worker_id)
on conflict (id) do nothing
