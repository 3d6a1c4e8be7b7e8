-- Locks that have somebody in line and may have room: the sweep behind every release.
select distinct h.lock_id from koken.hold h
 where h.granted_at is null and h.not_before <= koken.now() limit 1000
