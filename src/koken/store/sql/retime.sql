-- $1 schedules  $2 next times  $3 problems  $4 tzdata
update koken.schedule s set next_at = t.next_at, problem = t.problem, tzdata = $4
  from unnest($1::int[], $2::timestamptz[], $3::text[]) as t (id, next_at, problem)
 where s.id = t.id
