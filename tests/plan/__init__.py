"""Tests of `cxlab plan`."""
