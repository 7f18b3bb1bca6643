"""Upper confidence bounds on mean rewards: UCB1, Multi-UCB, DCB, CCB, kl-UCB."""
