"""Page placement by Caption in the simulated guest: the controller's command line, its log, its plot.

The controller is the servers' static binary (crates/caption); here is what the host has to do with it.
"""
