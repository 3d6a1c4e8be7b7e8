-- Says that workers of these queues want to be told of ready runs; beats renew it.
-- $1 queue ids
update koken.queue set hungry_until = koken.now() + interval '15 s'
 where id = any($1::int[]) and (hungry_until is null or hungry_until < koken.now() + interval '12 s')
