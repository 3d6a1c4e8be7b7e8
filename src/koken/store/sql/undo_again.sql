-- $1 run that undoes something
select koken.undo_again($1::bigint) as queue_id
