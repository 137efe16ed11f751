"""Facades with the signatures of other packages, so that a notebook moves with one import."""
