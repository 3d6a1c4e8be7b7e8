-- Locks that have somebody in line and may have room: the sweep behind every release. In any order, so
-- that no thousand of them keep the rest out for ever.
select lock_id from (
  select distinct h.lock_id
    from koken.hold h
    join koken.lock k on k.id = h.lock_id
   where h.granted_at is null and h.not_before <= koken.now()
     and (h.mode = 'shared' or k.kind = 'overlap' and exists (
       select from koken.run r where r.id = h.run_id and r.overlap = 'replace')
     or k.max_holders > (
       select count(*) from koken.hold g where g.lock_id = k.id and g.granted_at is not null))) waited_for
 order by random()
 limit 1000
