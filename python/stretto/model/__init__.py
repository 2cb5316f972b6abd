"""Platforms, prices, fits, sweeps and forecasts: simulated, never measured."""
