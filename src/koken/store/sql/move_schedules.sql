-- $1 schedule ids  $2 next due times  $3 cursors  $4 problems
update koken.schedule s
   set next_at = t.next_at, cursor_at = t.cursor_at, problem = t.problem
  from unnest($1::int[], $2::timestamptz[], $3::timestamptz[], $4::text[])
       as t (id, next_at, cursor_at, problem)
 where s.id = t.id
