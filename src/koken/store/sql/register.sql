-- $1 name  $2 host  $3 pid  $4 app  $5 version  $6 queues  $7 slots
insert into koken.worker (name, host, pid, app, version, queues, slots)
values ($1, $2, $3, $4, $5, $6::jsonb, $7)
returning id
