-- Whether a body has it on record that it goes by what becomes of a run.
-- $1 the body's run  $2 the other
select exists (
  select from koken.checkpoint c
   where c.run_id = $1::bigint and starts_with(c.key, 'child:') and (c.value ->> 'run')::bigint = $2::bigint) as awaited
