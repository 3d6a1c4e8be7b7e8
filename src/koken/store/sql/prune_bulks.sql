-- $1 keep (s)
with gone as (
  delete from koken.bulk
   where state in ('stopped', 'done') and finished_at < koken.now() - make_interval(secs => $1::float8)
  returning id)
delete from koken.bulk_run using gone where bulk_run.bulk_id = gone.id
