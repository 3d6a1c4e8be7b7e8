select koken.follow_late() as queue_id
