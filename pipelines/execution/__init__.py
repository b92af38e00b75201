"""Where a job runs: runners by name, worker processes, progress, jobs left over on a cluster."""
