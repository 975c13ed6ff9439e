"""How much slower one run is than another, and why: runs side by side, by the CPI stack of each.

::

    RunResult --parts--> time by part --slowdown--> shares that add up --report--> sentence, table, JSON
    bench     --unloaded--> time of each stage without load: what is beyond it is bandwidth
"""
