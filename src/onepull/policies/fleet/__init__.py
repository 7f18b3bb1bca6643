"""What the members of a fleet tell each other, so that each learns from the pulls of all.

Each member keeps the contribution of every member apart, with a version.  A newer version of a
contribution replaces an older one.  So updates may come in any order, any number of times, and
by way of other members, and no pull counts twice.

There are two kinds of contributions.  Where the order of the observations does not matter, a
contribution is what a policy has learned from the member's own pulls, and contributions are
added.  Where it matters, a contribution is the list of the member's observations.  Each has a
number above all numbers that the member had seen before, and everyone learns the observations
of all members in the order of these numbers, and of the names of the members.
"""
