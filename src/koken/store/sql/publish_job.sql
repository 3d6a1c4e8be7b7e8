-- Makes a job known, or current again in this shape. The fingerprint tells whether anything changed.
-- $1 name  $2 app  $3 fingerprint  $4 spec  $5 by  $6 queue  $7 start timeout (s)  $8 run timeout (s)
-- $9 argument names  $10 required
with j as (
  insert into koken.job as j (workspace_id, name, app) values (2, $1, $2)
  on conflict (workspace_id, name) do update set app = excluded.app, retired_at = null
  returning j.id, j.version_id),
spec as (select $4::jsonb as s),
v as (
  insert into koken.job_version (
    job_id, number, fingerprint, spec, published_by, queue_id, priority, max_attempts,
    max_infra_attempts, overlap, overlap_key, lock_key, lock_mode, lock_limit, lock_when_held, subject,
    start_timeout, run_timeout, argument_names, required, defaults, keep, plain)
  select j.id, 1 + coalesce((select max(number) from koken.job_version o where o.job_id = j.id), 0), $3, s,
         $5, koken.queue_id($6), (s ->> 'priority')::int, (s ->> 'max_attempts')::int,
         (s ->> 'max_infra_attempts')::int, s ->> 'overlap', s ->> 'overlap_key', s #>> '{lock,key}',
         s #>> '{lock,mode}', (s #>> '{lock,limit}')::int, s #>> '{lock,when_held}', s ->> 'subject',
         make_interval(secs => $7::float8), make_interval(secs => $8::float8), $9::text[], $10::text[],
         s -> 'defaults', s -> 'keep',
         s ->> 'overlap' is null and s -> 'lock' = 'null' and s -> 'schedules' = '[]'
    from j, spec
  on conflict (job_id, fingerprint) do update set fingerprint = excluded.fingerprint
  returning id, job_id)
select v.job_id, v.id as version_id, j.version_id as previous_id from v join j on j.id = v.job_id
