-- Runs of a job that may overlap stand in the backfill's own line, of which so many go at once.
-- $1 runs  $2 workspace id  $3 key  $4 how many at once
with paced as (
  insert into koken.lock (workspace_id, kind, key, max_holders) values ($2, 'backfill', $3, $4)
  on conflict (workspace_id, kind, key) do update set max_holders = excluded.max_holders
  returning id),
moved as (
  update koken.hold h set lock_id = p.id
    from paced p, koken.lock o
   where h.run_id = any($1::bigint[]) and o.id = h.lock_id and o.kind = 'overlap'
  returning h.run_id)
update koken.run r set overlap = 'allow' from moved m where r.id = m.run_id
