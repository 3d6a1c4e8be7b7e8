-- Locks that nobody holds or waits for. A start that is about to use one shares its row: it is passed
-- over.
delete from koken.lock k
 where k.id in (
   select o.id from koken.lock o
    where not exists (select from koken.hold h where h.lock_id = o.id)
    order by o.id
    limit 5000
      for update skip locked)
   and not exists (select from koken.hold h where h.lock_id = k.id)
