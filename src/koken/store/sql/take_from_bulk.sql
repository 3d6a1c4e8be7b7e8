-- Takes what is due of the bulks: up to a second's worth of each, or one that takes longer than that, and not
-- more than $1 together, so that the taker soon turns to its other chores. Whoever moves next_at forward has
-- them; one whose taker died is taken again after a minute.
-- $1 at most
with due as materialized (
  select id, verb, by, reason, rate from koken.bulk
   where state = 'running' and next_at <= koken.now() order by next_at, id limit $1::int for update skip locked),
b as materialized (
  select *, greatest(1, least(floor(rate), $1::int / count(*) over ()))::int as n from due),
m as materialized (
  select x.bulk_id, x.run_id, b.verb, b.by, b.reason from b, lateral (
    select bulk_id, run_id from koken.bulk_run
     where bulk_id = b.id and at is null and (taken_at is null or taken_at < koken.now() - interval '1 min')
     order by run_id limit b.n) x),
taken as (
  update koken.bulk_run u set taken_at = koken.now() from m where u.bulk_id = m.bulk_id and u.run_id = m.run_id),
moved as (
  update koken.bulk u set next_at = koken.now() + make_interval(secs => b.n / b.rate) from b where u.id = b.id)
select bulk_id, run_id, verb, by, reason from m order by bulk_id, run_id
