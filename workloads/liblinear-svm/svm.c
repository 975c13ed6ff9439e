/* LIBLINEAR of Debian trains a linear support vector machine: L2-regularised, dual coordinate descent.
 *
 *   svm EXAMPLES FEATURES NONZERO NOISE SEED
 *
 * An example has NONZERO of FEATURES, drawn at random; a hidden plane gives its class, and NOISE in a thousand classes
 * are turned round. Detail is the training alone. The share of examples that the model then classifies as they are
 * labelled must be at least what the noise leaves, less five in a hundred.
 * Source: R. Fan et al., LIBLINEAR: A library for large linear classification, JMLR 9 (2008). */
#include "cxlab/marker.h"

#include <linear.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Stopping tolerance; LIBLINEAR's own for this solver. */
#define TOLERANCE 0.1

static uint64_t next_bits(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static double uniform(uint64_t *state) { return (double)(next_bits(state) >> 11) * 0x1p-53; }

static void silent(const char *text) { (void)text; }

/* Features in ascending order, as LIBLINEAR wants them: one of each of NONZERO equal ranges. */
static struct problem generate(int examples, int features, int nonzero, int noise, uint64_t seed) {
    struct problem made = {.l = examples, .n = features, .bias = -1};
    struct feature_node *nodes = malloc((size_t)examples * (size_t)(nonzero + 1) * sizeof *nodes);
    double *plane = malloc((size_t)features * sizeof *plane);
    made.y = malloc((size_t)examples * sizeof *made.y);
    made.x = malloc((size_t)examples * sizeof *made.x);
    for (int feature = 0; feature < features; feature++)
        plane[feature] = uniform(&seed) - 0.5;
    int range = features / nonzero;
    for (int example = 0; example < examples; example++) {
        double side = 0;
        made.x[example] = nodes;
        for (int place = 0; place < nonzero; place++, nodes++) {
            int feature = place * range + (int)(uniform(&seed) * range);
            *nodes = (struct feature_node){feature + 1, uniform(&seed)};
            side += nodes->value * plane[feature];
        }
        *nodes++ = (struct feature_node){-1, 0};
        int turned = uniform(&seed) * 1000 < noise;
        made.y[example] = (side > 0) != turned ? 1 : -1;
    }
    free(plane);
    return made;
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc != 6 || atoi(argv[1]) < 1 || atoi(argv[3]) < 1 || atoi(argv[2]) < atoi(argv[3])) {
        fputs("svm: EXAMPLES FEATURES NONZERO NOISE SEED, with no more nonzero than features\n", stderr);
        return 2;
    }
    struct problem problem = generate(atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), (uint64_t)atol(argv[5]));
    struct parameter parameter = {.solver_type = L2R_L2LOSS_SVC_DUAL, .eps = TOLERANCE, .C = 1};
    set_print_string_function(silent);
    srand((unsigned)atol(argv[5]));
    CXLAB_REGION_BEGIN;
    double begun = seconds();
    struct model *model = train(&problem, &parameter);
    double taken = seconds() - begun;
    CXLAB_REGION_END;
    int right = 0;
    for (int example = 0; example < problem.l; example++)
        right += predict(model, problem.x[example]) == problem.y[example];
    double share = (double)right / problem.l;
    if (share < 0.95 - atoi(argv[4]) / 1000.0) {
        fprintf(stderr, "svm: the model is right for %.1f %% of the examples only\n", 100 * share);
        return 1;
    }
    printf("measure training %.9g\n", taken * 1e3);
    printf("measure accuracy %.9g\n", 100 * share);
    return 0;
}
