/* The simulator's arithmetic written out for two problems: what a trial costs in plain C.

   This code works for these two problems only.  DCB assumes that contexts and states are discrete.
   CCB assumes that the context is one uniform number, that the reward is log(1 + power * gain) and
   that states are discrete.  One loop draws the context, chooses an arm, records the regret and
   learns.  Draws, tables and order of operations are the simulator's, so the regret is the same to
   the last bit.

   Define ARMS, CONTEXTS and ATOMS to give the compiler the sizes. */

#include <math.h>
#include <stdint.h>

#ifdef ARMS
#define SIZES(problem) enum { arms = ARMS, contexts = CONTEXTS, atoms = ATOMS }
#else
#define SIZES(problem) \
    const int64_t arms = (problem)->arms, contexts = (problem)->contexts, atoms = (problem)->atoms
#endif

struct law { /* Walker's alias tables, one arm after another, `atoms` entries each */
    const double *keep;
    const int64_t *alias;
};

struct problem {
    int64_t arms, contexts, atoms, horizon, marks;
    uint64_t key;
    struct law arrivals, states;
    const double *widths;       /* of a unit range, at each trial */
    const double *ranges;       /* of the reward, in each context or cell */
    const double *gaps;         /* DCB: [context][arm] */
    const double *rewards;      /* DCB: [arm * atoms + k][context]; CCB: [cell][arm][k] */
    const double *nodes;        /* CCB: all states that some arm can show */
    const int64_t *used;        /* CCB: the node of each atom of each arm */
    const double *weights;      /* CCB: the probability of that atom */
    int64_t node_count;
    double slack;
    const int64_t *checkpoints;
    /* what is learned and recorded; all start at zero except the means, which start infinite */
    double *means;              /* DCB: [context][arm] */
    double *counts;             /* CCB: [arm][k] */
    int64_t *pulls, *best_pulls;
    double *roots;
    double *regrets;            /* at each checkpoint */
    int64_t *pulls_at, *best_pulls_at;
};

static inline uint64_t bits(uint64_t key, uint64_t counter) {
    uint64_t z = key + counter * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline double uniform(uint64_t key, uint64_t counter) {
    return (double)(int64_t)(bits(key, counter) >> 11) * 0x1p-53;
}

static inline int64_t atom(const struct law *law, int64_t start, int64_t count, uint64_t key,
                           uint64_t counter) {
    const double place = uniform(key, counter) * (double)count;
    const int64_t slot = (int64_t)place, other = law->alias[start + slot];
    return place - (double)slot >= law->keep[start + slot] ? other : start + slot;
}

static inline int64_t reached(const struct problem *p, int64_t mark, double total) {
    for (int64_t j = 0; j < p->arms; j++) {
        p->pulls_at[mark * p->arms + j] = p->pulls[j];
        p->best_pulls_at[mark * p->arms + j] = p->best_pulls[j];
    }
    p->regrets[mark] = total;
    return mark + 1;
}

void dcb(const struct problem *given) {
    const struct problem p = *given;
    SIZES(&p);
    double *restrict means = p.means, *restrict roots = p.roots;
    int64_t *restrict pulls = p.pulls, *restrict best_pulls = p.best_pulls;
    double total = 0.0;
    int64_t mark = 0;
    for (int64_t trial = 0; trial < p.horizon; trial++) {
        const uint64_t place = (uint64_t)trial * (uint64_t)(arms + 1);
        const int64_t context = atom(&p.arrivals, 0, contexts, p.key, place);
        const double width = p.ranges[context] * p.widths[trial + 1];
        const double *row = means + context * arms;
        int64_t best = 0;
        double highest = -INFINITY;
        for (int64_t j = 0; j < arms; j++) {
            const double bound = row[j] + width * roots[j];
            best = bound > highest ? j : best;
            highest = bound > highest ? bound : highest;
        }
        const double gap = p.gaps[context * arms + best];
        total += gap;
        const int64_t count = ++pulls[best];
        best_pulls[best] += gap == 0.0;
        if (trial + 1 == p.checkpoints[mark]) mark = reached(&p, mark, total);
        roots[best] = 1.0 / sqrt((double)count);
        const double weight = 1.0 / (double)count;
        const int64_t found =
            atom(&p.states, best * atoms, atoms, p.key, place + 1 + (uint64_t)best);
        const double *seen = p.rewards + found * contexts;
        if (count == 1) {
            for (int64_t c = 0; c < contexts; c++) means[c * arms + best] = seen[c];
        } else {
            for (int64_t c = 0; c < contexts; c++)
                means[c * arms + best] += (seen[c] - means[c * arms + best]) * weight;
        }
    }
}

void ccb(const struct problem *given) {
    const struct problem p = *given;
    SIZES(&p);
    double *restrict counts = p.counts, *restrict roots = p.roots;
    int64_t *restrict pulls = p.pulls, *restrict best_pulls = p.best_pulls;
    double total = 0.0, at_node[64], expected[64];
    int64_t mark = 0;
    for (int64_t trial = 0; trial < p.horizon; trial++) {
        const uint64_t place = (uint64_t)trial * (uint64_t)(arms + 1);
        const double power = uniform(bits(p.key, place) ^ 0xD1B54A32D192ED03u, 0);
        double top = -INFINITY;
        for (int64_t s = 0; s < p.node_count; s++) at_node[s] = log(1.0 + power * p.nodes[s]);
        for (int64_t j = 0; j < arms; j++) {
            double mean = 0.0;
            for (int64_t k = j * atoms; k < (j + 1) * atoms; k++)
                mean += p.weights[k] * at_node[p.used[k]];
            expected[j] = mean;
            top = mean > top ? mean : top;
        }
        int64_t cell = (int64_t)(power * (double)contexts);
        cell = cell < contexts ? cell : contexts - 1;
        const double width = p.ranges[cell] * p.widths[trial + 1];
        const double *row = p.rewards + cell * arms * atoms;
        int64_t best = 0;
        double highest = -INFINITY;
        for (int64_t j = 0; j < arms; j++) {
            double mean = 0.0;
            for (int64_t k = j * atoms; k < (j + 1) * atoms; k++) mean += counts[k] * row[k];
            mean = pulls[j] ? mean / (double)pulls[j] : INFINITY;
            const double bound = mean + width * roots[j];
            best = bound > highest ? j : best;
            highest = bound > highest ? bound : highest;
        }
        double gap = top - expected[best];
        gap = gap > p.slack ? gap : 0.0;
        total += gap;
        const int64_t count = ++pulls[best];
        best_pulls[best] += gap == 0.0;
        if (trial + 1 == p.checkpoints[mark]) mark = reached(&p, mark, total);
        roots[best] = 1.0 / sqrt((double)count);
        counts[atom(&p.states, best * atoms, atoms, p.key, place + 1 + (uint64_t)best)] += 1.0;
    }
}
