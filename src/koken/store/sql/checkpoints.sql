-- All that a run has kept, and how many attempts at it were used up.
-- $1 run
select s.spent, c.key, c.value::text as value, c.ordinal, coalesce(c.undo, false) as undo,
       extract(epoch from koken.now() - c.at)::float8 as age,
       case when c.key like 'wait:%' and c.value ->> 'kind' = 'sleep'
            then extract(epoch from (c.value ->> 'until')::timestamptz - koken.now())::float8 end as left
  from (select count(*)::int as spent from koken.attempt
         where run_id = $1::bigint
           and outcome in ('retry', 'failed', 'skipped', 'cancelled', 'refused')) s
  left join koken.checkpoint c on c.run_id = $1::bigint
 order by c.at, c.key
