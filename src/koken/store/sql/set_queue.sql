-- $1 name  $2 set limit?  $3 limit  $4 set rate?  $5 rate (a second)  $6 burst  $7 by  $8 reason
with q as (
  update koken.queue
     set max_running = case when $2::boolean then $3::int else max_running end,
         rate = case when $4::boolean then $5::float8 else rate end,
         burst = case when $4::boolean then $6::int else burst end,
         rate_at = case when $4::boolean then null else rate_at end
   where name = $1
  returning id, name, max_running, rate, burst),
recorded as (
  insert into koken.event (workspace_id, verb, by, reason, detail)
  select 2, 'queue', $7, $8, jsonb_build_object('queue', name, 'limit', max_running, 'rate', rate) from q),
told as (select pg_notify('koken', 'ready ' || id) from q)
select q.*, (select count(*) from told) as told from q
