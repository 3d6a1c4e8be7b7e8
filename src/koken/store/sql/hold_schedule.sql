-- Keeps everybody else from firing or backfilling a schedule until the end of the transaction.
-- $1 schedule
select revision from koken.schedule where id = $1 for update
