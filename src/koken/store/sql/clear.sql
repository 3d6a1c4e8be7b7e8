-- Lost workers with whom no run is left need no further look.
update koken.worker w set cleared_at = koken.now()
 where lost_at is not null and cleared_at is null
   and not exists (select from koken.run r where r.worker_id = w.id and r.state = 'running')
