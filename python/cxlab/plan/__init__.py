r"""Cost planning: what CXL memory does to a bill.

    runs ---------+                                                 (R_d, R_c measured)
    options ------+--> assumption --> abstract_cost_model --> cost_study --> cost_report --+--> output
    prices -------+         |    \--> server (bill, R_t) ---------^  |                     |    plot
    applications -+         +-------> mix (MILP) --> pareto --> mix_report ----------------+
                                                                  ^
                                      uncertainty (tornado, spread, grid): both reports
    spare_cores: the revenue of vCPUs that main memory alone leaves unsold

Every number that enters is an `Assumption` with interval, unit, source and date. Nothing here simulates: it
takes throughputs, from the simulator's runs or from elsewhere, and turns them into money. A new price is an
entry of `prices.Price` and a term in `server.bill`; a new outcome to vary is an `assumption.Study`.

Source: Tang et al., EuroSys'24, sections 4.3 and 6, and the extensions that section 6 names.
"""
