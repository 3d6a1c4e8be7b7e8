-- Writes lines of ledgers, each only under its lease; what is null is left as it stands.
-- $1 run ids  $2 leases  $3 whose ledgers  $4 keys  $5 numbers  $6 states  $7 items  $8 handles
-- $9 submits  $10 errors
with d as materialized (
  select * from unnest($1::bigint[], $2::int[], $3::bigint[], $4::text[], $5::int[],
                       $6::text[], $7::text[], $8::text[], $9::int[], $10::text[])
    as t (holder_id, lease, run_id, key, no, state, item, handle, submits, error))
insert into koken.ledger as l (run_id, key, no, state, item, handle, submits, submitted_at, error)
select d.run_id, d.key, d.no, d.state, d.item::jsonb, d.handle::jsonb, coalesce(d.submits, 0),
       case when d.state = 'submitted' then koken.now() end, d.error
  from d join koken.run r on r.id = d.holder_id and r.lease = d.lease
   and case when r.state = 'running' then true end
on conflict (run_id, key, no) do update
   set state = excluded.state, item = coalesce(excluded.item, l.item),
       handle = coalesce(excluded.handle, l.handle),
       submits = greatest(excluded.submits, l.submits),
       submitted_at = coalesce(excluded.submitted_at, l.submitted_at), error = excluded.error,
       updated_at = koken.now()
