-- After the clock was set back: what has not been yet is forgotten, and schedules count from here.
with forgotten as (
  delete from koken.tick where due_at > koken.now())
update koken.schedule set cursor_at = koken.now(), tzdata = ''
