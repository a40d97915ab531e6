"""A process that has nothing left but one workspace: how it is locked down, watched and talked to.

What it computes is handed over by name and none of this package's business. Import the modules directly:
the worker imports few of them, and the parent others.
"""
