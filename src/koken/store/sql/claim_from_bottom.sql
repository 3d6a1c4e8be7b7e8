-- Finds the lanes that have ready runs, by a skip scan, and takes from each of them its share of the
-- free slots, from the bottom: late commits and higher priorities land below the marks.
-- $1 worker  $2 queue ids  $3 free slots of each  $4 jobs that the worker's program does not have
with recursive lane as (
  (select queue_id, workspace_id from koken.run
    where state = 'ready'
    order by queue_id, workspace_id limit 1)
  union all
  select n.queue_id, n.workspace_id
    from lane l, lateral (
      select queue_id, workspace_id from koken.run
       where state = 'ready' and (queue_id, workspace_id) > (l.queue_id, l.workspace_id)
       order by queue_id, workspace_id limit 1) n),
open as materialized (
  select l.queue_id, l.workspace_id, f.free,
         row_number() over (partition by l.queue_id order by random()) as place,
         count(*) over (partition by l.queue_id) as lanes
    from lane l
    join unnest($2::int[], $3::int[]) f (queue_id, free) on f.queue_id = l.queue_id
    join koken.queue q on q.id = l.queue_id
     and q.paused_at is null and q.max_running is null and q.rate is null),
mine as materialized (
  select queue_id, workspace_id,
         free / lanes + case when place <= free % lanes then 1 else 0 end as n
    from open
   where place <= free
   order by random()
   limit 64),
c as materialized (
  select x.id
    from mine l, lateral (
      select id from koken.run
       where state = 'ready' and queue_id = l.queue_id and workspace_id = l.workspace_id
         and job_id <> all($4::int[])
       order by rank, id
       limit l.n
         for update skip locked) x)
update koken.run r
   set state = 'running', lease = r.lease + 1, attempt = r.attempt + 1, worker_id = $1::int,
       started_at = coalesce(r.started_at, koken.now()), claimed_at = koken.now(),
       start_deadline_at = null
  from c
 where r.id = c.id
   and case when r.state = 'ready' then true end
   and exists (select from koken.worker where id = $1::int and lost_at is null)
returning r.id, r.lease, r.attempt, r.max_attempts, r.infra_attempt, r.max_infra_attempts, r.job_id,
          r.workspace_id, r.queue_id, r.root_id, r.rank, r.priority, r.subject, r.trigger_kind,
          r.trigger_by, r.schedule_id, r.since_at, r.logical_at, r.overlap,
          r.overlap_key, extract(epoch from r.deadline_at - koken.now())::float8 as seconds_left,
          case when r.args is null
               then (select a.args::text from koken.run_args a where a.run_id = r.id)
               else r.args::text end as args,
          r.version_id, koken.part_of(r)::text as part
