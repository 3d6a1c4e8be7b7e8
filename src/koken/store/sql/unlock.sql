-- Takes a lock from those of these runs that have ended, are gone, or were asked to end. The lock's row is
-- held: nobody is granted it meanwhile.
-- $1 lock  $2 by  $3 reason  $4 forced?  $5 runs
with k as materialized (select id, workspace_id, kind, key from koken.lock where id = $1::bigint for no key update),
taken as (
  delete from koken.hold h using k
   where h.lock_id = k.id and h.run_id = any($5::bigint[]) and h.granted_at is not null and not exists (
     select from koken.run r where r.id = h.run_id and r.finished_at is null and r.cancel_requested_at is null)
  returning h.run_id, h.granted_at),
recorded as (
  insert into koken.event (workspace_id, verb, by, reason, run_id, job_id, detail)
  select k.workspace_id, 'unlock', $2, $3, b.run_id, (select job_id from koken.run where id = b.run_id),
         jsonb_build_object('lock', k.key, 'kind', k.kind, 'since', b.granted_at, 'forced', $4::boolean)
    from k, taken b)
select run_id from taken order by run_id
