"""Sweeps: every combination of machines, settings, placements, workloads and seeds, each run once.

    FILE.toml ── file ──> Sweep ── plan ──> Run, Run, Run ...    each named by the hash of its configuration
                                                |
                     local: a process for each processor, or slurm: tasks of a cluster
                                                |  execution: one Run, in any process
                                                v
                     DIR/sweep.json   the runs, in order      DIR/runs/HASH.parquet   one run's rows
                                                |
                                            query: SQL over the rows

A run's file is whole or absent, so a sweep that was killed goes on with the runs that have none.
"""
