-- Deletes ended runs whose time is over, walking up the ids; the last run of a job and its last
-- success stay, and failures that still stop their job. What waits or runs is never touched; what is part of
-- a run goes with it.
-- $1 cursor  $2 how many ids to look at  $3 default keep (s) by outcome, as JSON  $4 only count?
with recursive page as materialized (
  select r.id, r.workspace_id, r.job_id, r.state, r.finished_at, r.version_id, r.overlap,
         r.parent_id, r.acknowledged_at
    from koken.run r where r.id > $1::bigint order by r.id limit $2::int),
old as materialized (
  select p.id
    from page p
    join koken.job j on j.id = p.job_id
    join koken.job_version v on v.id = j.version_id
    join koken.workspace w on w.id = p.workspace_id
   where p.parent_id is null and p.state in ('succeeded', 'failed', 'skipped', 'cancelled')
     and p.finished_at < koken.now() - make_interval(secs => coalesce(
           (v.keep ->> p.state)::float8, (w.keep ->> p.state)::float8, ($3::jsonb ->> p.state)::float8))
     and (p.state not in ('failed', 'cancelled') or p.acknowledged_at is not null
       or p.overlap not in ('skip_if_failed', 'skip_if_running_or_failed') or p.overlap is null)
     and exists (
       select from koken.run n
        where n.workspace_id = p.workspace_id and n.job_id = p.job_id and n.parent_id is null and n.id > p.id)
     and (p.state <> 'succeeded' or exists (
       select from koken.run n
        where n.workspace_id = p.workspace_id and n.job_id = p.job_id and n.parent_id is null
          and n.id > p.id and n.state = 'succeeded'))),
tree (id) as (
  select id from old
  union all
  select c.id from tree t join koken.run c on c.parent_id = t.id),
gone as (
  delete from koken.run using tree where run.id = tree.id and not $4::boolean
  returning run.id),
a as (delete from koken.run_args using gone where run_args.run_id = gone.id),
t as (delete from koken.attempt using gone where attempt.run_id = gone.id),
c as (delete from koken.checkpoint using gone where checkpoint.run_id = gone.id),
l as (delete from koken.ledger using gone where ledger.run_id = gone.id),
s as (delete from koken.signal using gone where signal.run_id = gone.id),
q as (delete from koken.question using gone where question.run_id = gone.id),
u as (delete from koken.usage using gone where usage.run_id = gone.id),
h as (delete from koken.hold using gone where hold.run_id = gone.id),
m as (delete from koken.moving using gone where moving.run_id = gone.id)
select (select count(*) from old) as pruned, (select max(id) from page) as cursor
