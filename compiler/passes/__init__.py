"""The passes: pure functions from valid graph to valid graph, and from graph to plan."""
