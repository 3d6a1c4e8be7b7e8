-- Which of these queues have a limit or a rate and something ready: they are claimed one by one.
-- $1 queue ids
select q.id from koken.queue q
 where q.id = any($1::int[]) and q.paused_at is null
   and (q.max_running is not null or q.rate is not null)
   and exists (select from koken.run r where r.queue_id = q.id and r.state = 'ready')
