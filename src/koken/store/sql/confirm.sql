-- The second look: suspects that sent no beat meanwhile are lost. A beat in flight wins, its row is
-- locked. $1 confirm (s)
with gone as materialized (
  select id from koken.worker
   where lost_at is null and cleared_at is null
     and suspect_at <= koken.now() - make_interval(secs => $1::float8)
     for update skip locked)
update koken.worker w set lost_at = koken.now()
  from gone where w.id = gone.id and w.lost_at is null
returning w.id, w.name
