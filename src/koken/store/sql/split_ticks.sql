-- Ticks that stand for several due times give way to what is left of them.
-- $1 schedule  $2 due times of those that go  $3 of which a rest is left  $4 its due time  $5 its last
-- $6 counts  $7 reasons
with gone as (
  delete from koken.tick where schedule_id = $1 and due_at = any($2::timestamptz[])
  returning due_at, verdict, blocker_id, fired_at)
insert into koken.tick (schedule_id, due_at, until_at, count, verdict, reason, blocker_id, fired_at)
select $1, n.due_at, n.until_at, n.count, g.verdict, n.reason, g.blocker_id, g.fired_at
  from unnest($3::timestamptz[], $4::timestamptz[], $5::timestamptz[], $6::int[], $7::text[])
       as n (of, due_at, until_at, count, reason)
  join gone g on g.due_at = n.of
