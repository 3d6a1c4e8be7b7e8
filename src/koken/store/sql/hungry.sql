-- Says that workers of these queues want to be told of ready runs for the next 10 s.
-- $1 queue ids
update koken.queue set hungry_until = koken.now() + interval '10 s'
 where id = any($1::int[]) and (hungry_until is null or hungry_until < koken.now() + interval '6 s')
