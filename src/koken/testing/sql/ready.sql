-- The first ready run of each queue that is not paused; whoever has waited longest comes first.
select q.id as queue_id, r.workspace_id, r.rank,
       q.max_running is not null or q.rate is not null as limited
  from koken.queue q, lateral (
    select workspace_id, rank, id from koken.run
     where state = 'ready' and queue_id = q.id
     order by rank, id limit 1) r
 where q.paused_at is null
 order by r.rank, r.id
