-- $1 version
select spec::text as spec from koken.job_version where id = $1::int
