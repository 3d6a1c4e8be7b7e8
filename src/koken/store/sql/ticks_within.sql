-- The ticks that say something about a stretch of time, also those that begin before it or stand for
-- what was due up to a run after it.
-- $1 schedule  $2 from  $3 until
select t.due_at, t.until_at, t.count, t.verdict, t.reason, r.since_at
  from koken.tick t left join koken.run r on r.id = t.run_id
 where t.schedule_id = $1
   and t.due_at >= coalesce((
         select min(b.due_at) from (
           select due_at, until_at from koken.tick
            where schedule_id = $1 and due_at < $2 order by due_at desc limit 1000) b
          where b.until_at >= $2), $2)
   and t.due_at <= coalesce((
         select min(due_at) from koken.tick
          where schedule_id = $1 and due_at > $3 and verdict = 'started'), $3)
 order by t.due_at
