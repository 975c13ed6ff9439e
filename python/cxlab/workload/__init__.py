"""Workloads: real programs with their data, sizes and measures, each a folder with a workload.toml.

description    workload.toml, read and checked
prepared       packages that must be there; the program, built; the data, generated
measures       what a run printed
written        the document of what ran and what it measured
repeats        means and ratios over seeds, each with its interval
"""
