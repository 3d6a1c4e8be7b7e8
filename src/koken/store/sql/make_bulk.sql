-- $1 workspace  $2 query  $3 rate  $4 by  $5 reason  $6 runs  $7 verb
with made as (
  insert into koken.bulk (workspace_id, verb, query, rate, by, reason)
  select w.id, $7, $2, $3::float8, $4, $5 from koken.workspace w where w.name = $1
  returning id, workspace_id),
members as (
  insert into koken.bulk_run (bulk_id, run_id)
  select made.id, r.id from made, unnest($6::bigint[]) r (id)),
recorded as (
  insert into koken.event (workspace_id, verb, by, reason, detail)
  select workspace_id, 'bulk', $4, $5,
         jsonb_build_object('bulk', id::text, 'verb', $7::text, 'query', $2, 'runs', cardinality($6::bigint[]), 'rate', $3::float8)
    from made)
select id from made
