"""One file is one figure or table of a paper: it prints paper, simulated and error, and draws a plot.

Run one with ``python -m experiments.micro23_figure_9b``; ``--plot FILE`` draws it.
"""
