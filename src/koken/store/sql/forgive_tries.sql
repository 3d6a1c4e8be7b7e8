-- $1 key of which all is forgiven  $2 keys of which the last one is
delete from koken.failed_sign_in
 where key = $1
    or ctid = any (array(select (select f.ctid from koken.failed_sign_in f where f.key = k.key
                                  order by f.at desc limit 1)
                           from unnest($2::text[]) as k (key)))
