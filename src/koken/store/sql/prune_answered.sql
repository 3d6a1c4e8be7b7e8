-- $1 kept (s)
delete from koken.answered where at < koken.now() - make_interval(secs => $1::float8)
