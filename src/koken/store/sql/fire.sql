-- $1 schedule ids  $2 due  $3 until  $4 counts  $5 since  $6 verdicts  $7 reasons  $8 args  $9 jitters (s)
select t.schedule_id, t.due_at, f.verdict, f.run_id, f.blocker_id, f.reason
  from unnest($1::int[], $2::timestamptz[], $3::timestamptz[], $4::int[], $5::timestamptz[],
              $6::text[], $7::text[], $8::jsonb[], $9::float8[]) with ordinality
       as t (schedule_id, due_at, until_at, count, since_at, verdict, reason, args, jitter, n),
       lateral koken.fire_tick(t.schedule_id, t.due_at, t.until_at, t.count, t.since_at, t.verdict,
                               t.reason, t.args, t.jitter) f
 order by t.n
