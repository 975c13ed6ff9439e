"""Page placement in simulation: applications under an operating system, on the model.

request    what a study is asked to do
study      studies in parallel, and Caption above them
report     paper, simulated, error
"""
