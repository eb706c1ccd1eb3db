"""Plan → results: the reference interpreter of graphs and the executors of plans."""
