-- $1 chore  $2 cursor
update koken.chore set cursor = $2::bigint where name = $1
