"""The viewer: runs in a browser, served on this machine, from the tables and figures of the report."""
