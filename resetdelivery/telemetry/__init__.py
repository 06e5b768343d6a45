"""What is measured: the attempt log, rollups and lifetime totals, metrics, health, traces, budgets.

Everything is counted from rows, by database time; a number leaves this package only under names
and labels from closed sets.
"""
