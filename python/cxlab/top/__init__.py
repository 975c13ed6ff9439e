"""Finds the functions and data that wait for a memory: the profile of a run, with names.

::

    profile.json (addresses) --objects: which file is where--> functions, data --> tables, speedscope, stacks
"""
