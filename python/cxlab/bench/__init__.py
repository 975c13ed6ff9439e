"""The bench: a simulated machine driven by synthetic kernels, as the field's microbenchmarks drive real ones.

    request.Workload --> sweep.run: points in parallel, each one call of the model --> result.Result
                                                          table, JSON <--------------/   |
                                                          plot.curves <-----------------/
    figures, curves: the same, against silicon; tables prints both

A point is made by Rust (crates/model/src/bench); nothing here knows how.
"""
