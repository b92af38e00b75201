"""Running a Beam job: runners by name, worker processes, progress, leftover jobs on a cluster."""
