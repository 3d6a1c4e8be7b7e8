-- Parents that are to end and have something below them that nobody has asked yet: what was broken off.
select r.id, coalesce(r.error ->> 'message', 'the run that it belongs to is to end') as reason
  from koken.run r
 where (r.cancel_requested_at is not null or r.settle is not null) and r.finished_at is null
   and (r.cancel_requested_at is not null or r.settle in ('failed', 'cancelled'))
   and r.made > 0 and exists (
     select from koken.run c
      where c.parent_id = r.id and c.undoes_id is null and c.finished_at is null
        and c.cancel_requested_at is null)
 limit 100
