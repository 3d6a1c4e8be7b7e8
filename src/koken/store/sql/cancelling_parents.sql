-- Parents that are to end and have something below them that nobody has asked yet: what a cancel that was
-- broken off has left.
select r.id, coalesce(r.error ->> 'message', 'cancelled') as reason
  from koken.run r
 where r.cancel_requested_at is not null and r.finished_at is null and r.open_children > 0
   and exists (
     select from koken.run c
      where c.parent_id = r.id and c.undoes_id is null and c.finished_at is null
        and c.cancel_requested_at is null)
 limit 100
