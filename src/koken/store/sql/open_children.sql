-- Which of these runs have ended, and how many children of their parent are open: one look.
-- $1 parent  $2 ids
select coalesce(r.open_children, 0) as open_children,
       (select array_agg(c.id) from koken.run c
         where c.id = any($2::bigint[]) and c.finished_at is not null) as ended
  from koken.run r where r.id = $1::bigint
