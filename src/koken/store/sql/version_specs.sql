-- $1 versions
select id, spec::text as spec from koken.job_version where id = any($1::int[])
