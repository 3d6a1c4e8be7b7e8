-- $1 key of the name: all of it  $2 key of the address: the last one
delete from koken.failed_sign_in
 where key = $1
    or ctid = any (array(select ctid from koken.failed_sign_in where key = $2 order by at desc limit 1))
