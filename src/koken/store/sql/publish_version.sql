-- A version of a job whose row is held. The fingerprint tells whether it is known already.
-- $1 job  $2 fingerprint  $3 spec  $4 by  $5 queue  $6 start timeout (s)  $7 run timeout (s)
-- $8 argument names, null for any  $9 required  $10 arguments with a secret
with spec as (select $3::jsonb as s)
insert into koken.job_version (
  job_id, number, fingerprint, spec, published_by, queue_id, priority, max_attempts,
  max_infra_attempts, overlap, overlap_key, lock_key, lock_mode, lock_limit, lock_when_held, subject,
  subject_exclusive, on_success, on_failure,
  start_timeout, run_timeout, argument_names, required, defaults, keep, plain,
  secret_arguments)
select $1::int, 1 + coalesce((select max(number) from koken.job_version o where o.job_id = $1::int), 0),
       $2, s, $4, koken.queue_id($5), (s ->> 'priority')::int, (s ->> 'max_attempts')::int,
       (s ->> 'max_infra_attempts')::int, s ->> 'overlap', s ->> 'overlap_key', s #>> '{lock,key}',
       s #>> '{lock,mode}', (s #>> '{lock,limit}')::int, s #>> '{lock,when_held}', s ->> 'subject',
       (s ->> 'subject_exclusive')::boolean, s ->> 'on_success', s ->> 'on_failure',
       make_interval(secs => $6::float8), make_interval(secs => $7::float8), $8::text[], $9::text[],
       s -> 'defaults', s -> 'keep',
       s ->> 'overlap' is null and s -> 'lock' = 'null' and s -> 'schedules' = '[]',
       $10::text[]
  from spec
on conflict (job_id, fingerprint) do update set fingerprint = excluded.fingerprint
returning id
