-- Takes runs from lost workers: ready at once for the first loss, later with a growing wait, failed
-- when the infra budget is spent. The code's own attempts are not touched. What has something below it, or
-- to clean up, does not end here: another worker ends it (settle). 500 at a time.
with mine as materialized (
  select r.id, w.name as worker,
         case when r.cancel_requested_at is not null then 'cancelled'
              when r.infra_attempt >= r.max_infra_attempts then 'failed'
              when r.infra_attempt = 0 then 'ready' else 'waiting' end as state,
         r.unwind is true or coalesce(r.open_children, 0) > 0 as holds_on
    from koken.worker w join koken.run r on r.worker_id = w.id and r.state = 'running'
   where w.lost_at is not null and w.cleared_at is null
   order by r.id limit 500
     for update of r skip locked),
taken as (
  update koken.run r
     set state = case when mine.holds_on and mine.state in ('cancelled', 'failed') then 'ready' else mine.state end,
         settle = case when mine.holds_on and mine.state in ('cancelled', 'failed') then coalesce(r.settle, mine.state)
                       else r.settle end,
         attempt = r.attempt - 1,
         infra_attempt = r.infra_attempt + 1,
         wait_cause = case when mine.state = 'waiting' then 'retry' end,
         wake_at = case when mine.state = 'waiting'
                        then koken.now() + least(interval '5 s' * 2 ^ (r.infra_attempt - 1), interval '2 min') end,
         finished_at = case when mine.state in ('cancelled', 'failed') and not mine.holds_on then koken.now() end,
         error = case when r.cancel_requested_at is not null then coalesce(r.error, '{"type": "Cancel", "message": ""}')
                      when r.settle is not null then r.error
                      else jsonb_build_object('type', 'WorkerLost', 'message', format(
                        'worker %s was lost%s', mine.worker,
                        case when r.infra_attempt < r.max_infra_attempts then ''
                             when r.max_infra_attempts = 0 then '; what the run did outside is not known and it may not be repeated'
                             else format('; that was loss %s, and %s are borne', r.infra_attempt + 1, r.max_infra_attempts) end)) end
    from mine
   where r.id = mine.id and r.state = 'running'
  returning r.id, r.lease, r.attempt, r.state, r.worker_id, r.claimed_at, r.error, r.has_locks, r.queue_id,
            r.parent_id, r.hooks),
a as (
  insert into koken.attempt (run_id, lease, attempt, worker_id, started_at, ended_at, outcome, error)
  select id, lease, attempt, worker_id, claimed_at, koken.now(), 'lost', error from taken),
h as (
  delete from koken.hold using taken
   where hold.run_id = taken.id and taken.has_locks and taken.state in ('failed', 'cancelled')
  returning lock_id)
select count(*) as taken, array_agg(distinct queue_id) filter (where state = 'ready') as queue_ids,
       (select array_agg(distinct lock_id) from h) as lock_ids,
       array_agg(id) filter (where state in ('failed', 'cancelled') and (parent_id is not null or hooks)) as followed
  from taken
