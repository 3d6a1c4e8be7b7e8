-- The first look: workers that have not been heard of for a lease. A beat in the future is a clock
-- that stepped, and is suspect too. $1 lease (s)
update koken.worker
   set suspect_at = koken.now()
 where lost_at is null and suspect_at is null and cleared_at is null
   and (beat_at < koken.now() - make_interval(secs => $1::float8)
     or beat_at > koken.now() + make_interval(secs => $1::float8))
returning id
