"""An example of each kind that a distribution may add to floe.

A declaration is read wherever Airflow parses DAGs: its module imports the standard library and ``floe.config`` only. The
code, which imports Arrow and PyIceberg, is in a module of its own that the declaration names.
"""
