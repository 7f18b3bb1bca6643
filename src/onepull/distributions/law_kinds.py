"""The numbers by which the simulator knows how to draw from a continuous law."""

UNIFORM, NORMAL, LOG_NORMAL, GAMMA, RICIAN, BETA = range(1, 7)
