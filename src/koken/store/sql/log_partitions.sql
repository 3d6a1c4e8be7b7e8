select c.relname as name
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
 where i.inhparent = 'koken.log_line'::regclass and c.relname like 'log_line_2%'
