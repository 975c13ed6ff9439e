"""Experiments: figures of papers, and studies of our own.

    papers/     a figure or table of a paper is one file: what it simulates, beside the paper's numbers
    studies/    a question that no paper asks, one file each
    experiment  what an experiment is given, what it returns, and how it is found by its name
    report      its tables: paper, simulated, error
    machines    machines that only experiments need
    workloads   workloads on placements, over seeds
    guests      programs in a guest, and what they measured
    figures.toml, paper_figures     every figure and table of the papers: what makes it, or why nothing does
    reproduction, score             a figure that was made; its errors and ranks
    validation_points               figures whose bars are rows of validation/points.toml

``cxlab experiment list`` names them. ``cxlab experiment run NAME`` runs one, from any folder.
``cxlab reproduce --list`` names the papers' figures. ``cxlab reproduce FIGURE`` makes one.
"""
