"""Options of the commands with a guest: a module for each, or for a few that belong together.

`option` says what a declaration is, `table` names all of them.
"""
