-- Locks that have somebody in line and may have room: the sweep behind every release. In any order, so
-- that no thousand of them keep the rest out for ever.
select lock_id from (
  select distinct h.lock_id
    from koken.hold h
    join koken.lock k on k.id = h.lock_id
   where h.granted_at is null and h.not_before <= koken.now()
     and (h.mode = 'shared' or k.kind = 'overlap' and exists (
       select from koken.run r where r.id = h.run_id and r.overlap = 'replace')
     or k.kind = 'subject' and exists (
       select from koken.moving m where m.run_id = h.run_id and m.supersedes <> '{}')
     or exists (
       select from koken.hold g join koken.run p on p.id = g.run_id
        where g.lock_id = k.id and g.granted_at is not null and p.open_children > 0)
     or k.max_holders > (
       select count(*) from koken.hold g where g.lock_id = k.id and g.granted_at is not null))) waited_for
 order by random()
 limit 1000
