-- $1 run  $2 the run that it was made from  $3 by which verb
update koken.run set origin_id = $2::bigint, origin_verb = $3 where id = $1::bigint
