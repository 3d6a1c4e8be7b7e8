-- One at a time of those who try the same; $1 keys, sorted
select pg_advisory_xact_lock(hashtextextended('koken sign-in ' || key, 0))
  from unnest($1::text[]) with ordinality as k (key, place) order by place
