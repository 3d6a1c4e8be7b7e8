select koken.now() as now
