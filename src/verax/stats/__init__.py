"""Statistics: intervals, joint tests, areas, conformal p-values; numpy and scipy only."""
