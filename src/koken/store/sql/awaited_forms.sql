-- The forms of the waits for a signal that are open, without those that the signals serve which are
-- there already.
-- $1 run  $2 name of the signal
select (c.value -> 'schema')::text as schema
  from koken.checkpoint c join koken.run r on r.id = c.run_id and r.finished_at is null
 where c.run_id = $1::bigint and c.key like 'wait:%'
   and c.value ->> 'kind' = 'signal' and c.value ->> 'name' = $2::text and c.value -> 'value' is null
   and coalesce((c.value ->> 'until')::timestamptz > koken.now(), true)
 order by c.at, c.key
offset (select count(*) from koken.signal s
         where s.run_id = $1::bigint and s.name = $2::text and s.taken_by is null)
