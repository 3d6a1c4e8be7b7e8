-- Which runs a worker holds, cheaply.
-- $1 worker
select id, lease from koken.run where worker_id = $1::int and state = 'running'
