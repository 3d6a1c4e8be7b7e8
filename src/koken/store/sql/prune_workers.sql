delete from koken.worker where cleared_at < koken.now() - interval '7 days'
   and not exists (select from koken.run r where r.worker_id = worker.id and r.state = 'running')
