-- Stops retries whose runs fail again: of the last twenty that have ended since their turn came, more than
-- half, and ten at least have ended. Ends bulks of which nothing is left.
with b as materialized (
  select id, workspace_id, verb, query, checked_from from koken.bulk where state = 'running' order by id for update skip locked),
looked as materialized (
  select b.id, b.workspace_id, b.verb, b.query, count(l.state) as ended, count(*) filter (where l.state = 'failed') as failed,
         exists (select from koken.bulk_run m where m.bulk_id = b.id and m.at is null) as left_over
    from b left join lateral (
      select r.state from koken.bulk_run m join koken.run r on r.id = m.run_id
       where m.bulk_id = b.id and m.at is not null and m.at >= coalesce(b.checked_from, '-infinity') and m.refusal is null
         and r.finished_at is not null
       order by m.at desc, m.run_id desc limit 20) l on true
   group by 1, 2, 3, 4),
said as (
  select *, verb = 'retry' and ended >= 10 and failed * 2 > ended and left_over as stops,
         format('%s of the last %s runs that it retried failed again', failed, ended) as why from looked),
moved as (
  update koken.bulk u set state = case when s.stops then 'stopped' else 'done' end,
         stopped_reason = case when s.stops then s.why end, finished_at = koken.now()
    from said s where u.id = s.id and (s.stops or not s.left_over)
  returning u.id, u.workspace_id, u.state, u.stopped_reason, u.query)
insert into koken.event (workspace_id, verb, by, reason, detail)
select workspace_id, 'bulk ' || case state when 'stopped' then 'stop' else 'done' end, 'koken', stopped_reason,
       jsonb_build_object('bulk', id::text, 'query', query)
  from moved
