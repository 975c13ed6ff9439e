"""Figures and tables of papers, a file each."""
