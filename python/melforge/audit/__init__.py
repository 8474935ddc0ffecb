"""Finds what a training script waits for.

    python -m melforge.audit train.py -- --epochs 1

It reads the script and the modules beside it for what keeps a GPU waiting, runs
it for some steps, and says how long each step waited for data and in which lines
that time went.
"""
