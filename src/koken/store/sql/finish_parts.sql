-- $1 ids  $2 leases  $3 states  $4 wait causes  $5 delays (s)  $6 what was spent  $7 results  $8 errors
-- $9 outcomes  $10 what exactly they wait for  $11 to wake when so many children are open
-- $12 whether there is something to undo  $13 the states that they end in later
-- $14 worker that takes what becomes ready  $15 in which queues  $16 how many
select ids, states, queue_ids, lock_ids, stopping, taken::text as taken
  from koken.finish_parts($1::bigint[], $2::int[], $3::text[], $4::text[], $5::float8[], $6::text[],
                          $7::text[], $8::text[], $9::text[], $10::text[], $11::int[], $12::boolean[], $13::text[],
                          $14::int, $15::int[], $16::int)
