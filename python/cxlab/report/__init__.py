"""One HTML file of a run, a comparison or a sweep, that needs no network and no other file.

    run's folder        ── of_run ───────┐
    comparison's folder ── of_comparison ┤
    sweep's folder      ── of_sweep ─────┼─> Report: facts, Chart, Topology ── page ──> report.html
    comparison JSON     ── causes ───────┘

Every chart has a text that says what it shows, check boxes for its series, and its numbers as a table. Series
differ by symbol and dash, not by colour alone.
"""
