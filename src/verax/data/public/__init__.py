"""Public data sets by name, with their location, splits and maskable parts."""
