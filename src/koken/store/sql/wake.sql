-- Moves waiting runs whose time has come to ready, 500 at a time.
-- $1 ids, or null for all that are due
with due as materialized (
  select id from koken.run
   where state = 'waiting' and wake_at <= koken.now() and ($1::bigint[] is null or id = any($1::bigint[]))
   order by wake_at
   limit 500
     for update skip locked),
woken as (
  update koken.run r
     set state = 'ready', wait_cause = null, wait_for = null, wake_at = null,
         rank = koken.now() + r.priority * interval '60 s'
              + case when r.attempt > 0 then interval '30 s' else interval '0' end
    from due
   where r.id = due.id and r.state = 'waiting'
  returning r.queue_id)
select queue_id, count(*) as woken from woken group by queue_id
