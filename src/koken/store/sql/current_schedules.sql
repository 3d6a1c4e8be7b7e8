-- $1 job
select id, name, declared, retired_at from koken.schedule where job_id = $1 for update
