-- Lines that found no partition of their day, once their time is over.
-- $1 keep (s)
delete from koken.log_line_other where at < koken.now() - make_interval(secs => $1::float8)
