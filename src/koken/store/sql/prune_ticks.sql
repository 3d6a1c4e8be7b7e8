-- What was backfilled is remembered from then on, however long ago it was due.
-- $1 keep (s)
delete from koken.tick t using koken.schedule s
 where s.id = t.schedule_id and t.due_at < koken.now() - make_interval(secs => $1::float8)
   and t.fired_at < koken.now() - make_interval(secs => $1::float8)
   and t.due_at < (select max(n.due_at) from koken.tick n where n.schedule_id = t.schedule_id)
