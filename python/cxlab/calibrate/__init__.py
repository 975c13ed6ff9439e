"""Calibration: a machine's free parameters, fitted to measured points with the simulator in the loop.

    measured.read --> series --> observation.of --> hold_out: what is fitted, what is kept to judge
                                                        |
    machine_files + parameter --> fit.fit <--> simulator: candidates in parallel processes
                                     |
            identify: intervals, and what the data cannot tell apart --> report, plot, the machine's files

Latencies are compared at equal bandwidth, never at equal delay, and only up to the knee; beyond it latency
is no function of bandwidth. The residual of a point is the logarithm of simulated over measured.

Not modelled: correlated errors of measurement; the intervals are those of independent relative errors of
one size.
"""
