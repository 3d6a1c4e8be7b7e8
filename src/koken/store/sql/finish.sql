-- Ends, parks or hands back runs, each only under its own lease. spent says what the try cost:
-- attempt, infra or nothing. A run that somebody wants cancelled is not parked but ends.
-- $1 ids  $2 leases  $3 states  $4 wait causes  $5 delays (s)  $6 what was spent  $7 results
-- $8 errors  $9 outcomes
with d as materialized (
  select * from unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::float8[], $6::text[],
                       $7::text[], $8::text[], $9::text[])
    as t (id, lease, state, wait_cause, delay, spent, result, error, outcome)),
u as (
  update koken.run r
     set state = case when d.state in ('waiting', 'ready') and r.cancel_requested_at is not null
                      then 'cancelled' else d.state end,
         wait_cause = case when r.cancel_requested_at is null then d.wait_cause end,
         wake_at = case when d.state = 'waiting' and r.cancel_requested_at is null
                        then koken.now() + make_interval(secs => d.delay) end,
         finished_at = case when d.state in ('waiting', 'ready') and r.cancel_requested_at is null
                            then null else koken.now() end,
         attempt = case when d.spent = 'attempt' then r.attempt else r.attempt - 1 end,
         infra_attempt = case when d.spent = 'infra' then r.infra_attempt + 1 else r.infra_attempt end,
         result = d.result::jsonb,
         error = case when d.state in ('waiting', 'ready', 'cancelled') and r.cancel_requested_at is not null
                      then coalesce(r.error, d.error::jsonb)
                      else d.error::jsonb end
    from d
   where r.id = d.id and r.lease = d.lease
     and case when r.state = 'running' then true end   -- keeps the plan on the key: see decision 0013
  returning r.id, r.state, r.has_locks, r.queue_id, r.attempt as attempts, r.worker_id, r.claimed_at,
            d.lease, d.outcome, d.error),
a as (
  insert into koken.attempt (run_id, lease, attempt, worker_id, started_at, ended_at, outcome, error)
  select id, lease, attempts, worker_id, claimed_at, koken.now(), outcome, error::jsonb
    from u where outcome <> 'succeeded'),
h as (
  delete from koken.hold using u
   where hold.run_id = u.id and u.has_locks and u.state not in ('waiting', 'ready')
  returning lock_id)
select u.id, u.state, u.queue_id, (select array_agg(distinct lock_id) from h) as lock_ids from u
