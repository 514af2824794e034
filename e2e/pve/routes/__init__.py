"""HTTP routes of the simulated API, split by subject as PVE's own API tree is."""
