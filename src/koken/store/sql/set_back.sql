-- $1 runs  $2 whether from nothing  $3 attempts that count  $4 at most
select koken.set_back($1::bigint[], $2::boolean[], $3::int[], $4::int[])
