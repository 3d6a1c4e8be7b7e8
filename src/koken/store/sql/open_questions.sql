-- The questions of a run that nobody has answered yet; of an ended run none.
-- $1 run
select q.key, q.text, q.for_whom, q.schema::text as schema, q.asked_at, q.until_at, q.reason
  from koken.question q join koken.run r on r.id = q.run_id and r.finished_at is null
 where q.run_id = $1::bigint and q.answered_at is null and q.closed_at is null
 order by q.asked_at, q.key
