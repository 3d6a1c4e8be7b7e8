-- A worker says that it lives and which queues it wants to be told of, and hears which of its runs
-- somebody wants cancelled, but for those that clean up already. No row: it is lost and must stop what it does.
-- $1 worker  $2 bodies at work  $3 queues that it is hungry for
with h as (
  update koken.queue set hungry_until = koken.now() + interval '15 s'
   where id = any($3::int[]) and (hungry_until is null or hungry_until < koken.now() + interval '12 s'))
update koken.worker w
   set beat_at = koken.now(), suspect_at = null, busy = $2::int
 where id = $1::int and lost_at is null
returning array(
  select r.id from koken.run r
   where r.worker_id = w.id and r.state = 'running' and r.cancel_requested_at is not null and r.settle is null) as cancels
