"""Tapeless: trace plain NumPy once, differentiate the graph, run the plan."""
