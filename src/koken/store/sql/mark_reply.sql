-- The last statement of a transaction that carries out a request: whatever it has written is committed with the
-- mark. lost: it has written, but the request was begun anew by another meanwhile.
-- $1 owner  $2 key  $3 request  $4 begun at
with wrote as materialized (select pg_current_xact_id_if_assigned() is not null as so),
marked as (
  update koken.answered a set written = true from wrote
   where wrote.so and a.owner = $1 and a.key = $2 and a.request = $3::bytea and a.at = $4::timestamptz
  returning 1)
select wrote.so and not exists (select from marked) as lost from wrote
