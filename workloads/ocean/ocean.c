/* A layered ocean in a periodic box, split in time as regional ocean models are: few long steps of all layers, and many short
 * ones of the surface.
 *
 *   ocean N LAYERS WARM STEPS        N by N columns; prints the time of STEPS steps, after WARM ones
 *
 *   a step:  tracers, predictor     T1 = T + dt A(T)                    third-order upstream, streams 3-D arrays
 *            surface, SHORT times   u -= grad h,  h -= div u            forward-backward, 2-D arrays
 *            tracers, corrector     T  = (T + T1 + dt A(T1)) / 2
 *            layers                 their currents follow the surface's
 *            columns                implicit mixing, a tridiagonal system a column
 *
 * The water moves with a steady current and a small wave. Then the scheme's own solution is known: a wave of a tracer is
 * multiplied by the same factor in each step, and the surface swings at the frequency of its dispersion relation. The
 * program checks both at its end, and that no tracer was lost. OMP_NUM_THREADS threads.
 * Source: A. Shchepetkin and J. McWilliams, Ocean Modelling 9 (2005), for the split; D. Durran, Numerical Methods for Wave
 * Equations (1999), for the factors. */
#include "cxlab/marker.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Short steps in a long one; cells that the current and a wave of the surface cross in a long and in a short step. */
enum { SHORT = 20 };
#define CURRENT_X 0.30
#define CURRENT_Y 0.20
#define WAVE 0.45
/* Mixing between layers in a step, in squared thicknesses of a layer. */
#define MIXING 0.8
/* Height of the wave: so small that it moves no tracer. */
#define SMALL 1e-9
#define TRACERS 2

static long n, layers, plane;
/* Tracers and their predictor; the current in x and y at the faces of each cell; mixing at the top of each cell. */
static double *tracer[TRACERS], *ahead[TRACERS], *east, *north, *mixing;
/* The surface's height, and the mean current of a column. */
static double *height, *mean_east, *mean_north;

#define COLUMNS _Pragma("omp parallel for schedule(static)") for (long j = 0; j < n; j++)
#define LAYERS _Pragma("omp parallel for schedule(static) collapse(2)") \
    for (long k = 0; k < layers; k++) for (long j = 0; j < n; j++)

static double *field(long deep) {
    double *made = aligned_alloc(64, (size_t)(plane * deep * 8 + 63) / 64 * 64);
    if (made == NULL) {
        fputs("ocean: there is not enough memory\n", stderr);
        exit(1);
    }
    _Pragma("omp parallel for schedule(static) collapse(2)") for (long k = 0; k < deep; k++)
        for (long j = 0; j < n; j++)
            for (long i = 0; i < n; i++)
                made[k * plane + j * n + i] = 0;
    return made;
}

static long around(long place) { return place < 0 ? place + n : place < n ? place : place - n; }

/* What a current carries through a face, from the values of two cells behind it, one behind it and one before it. */
static inline double carried(double behind2, double behind, double before) {
    return (-behind2 + 5 * behind + 2 * before) / 6;
}

/* The change of a row of cells: what comes in less what goes out. Both currents are positive. */
static inline double change(const double *of, long at, long w, long ww, long e, const double *s2, const double *s,
                            const double *n1) {
    double in_x = east[at + w] * carried(of[at + ww], of[at + w], of[at]);
    double out_x = east[at] * carried(of[at + w], of[at], of[at + e]);
    double in_y = north[s - of] * carried(*s2, *s, of[at]), out_y = north[at] * carried(*s, of[at], *n1);
    return in_x - out_x + in_y - out_y;
}

/* to = weight_to * to + weight_of * (of + change of `of`), of a row; the middle of it has no edges, so that it is fast. */
static void advance_row(double *to, const double *of, double weight_to, double weight_of, long k, long j) {
    const double *layer = of + k * plane;
    const double *s2 = layer + around(j - 2) * n, *s = layer + around(j - 1) * n, *n1 = layer + around(j + 1) * n;
    const long row = k * plane + j * n;
#define CELL(i, w, ww, e)                                                                                              \
    to[row + (i)] = weight_to * to[row + (i)] +                                                                        \
                    weight_of * (of[row + (i)] + change(of, row + (i), w, ww, e, s2 + (i), s + (i), n1 + (i)))
    CELL(0, n - 1, n - 2, 1);
    CELL(1, -1, n - 2, 1);
    _Pragma("omp simd") for (long i = 2; i < n - 1; i++) CELL(i, -1, -2, 1);
    CELL(n - 1, -1, -2, 1 - n);
#undef CELL
}

static void predict(void) {
    LAYERS for (int which = 0; which < TRACERS; which++) advance_row(ahead[which], tracer[which], 0, 1, k, j);
}

/* T and ahead are one step apart: (T + T1 + dt A(T1)) / 2 leads to the end of the step. */
static void correct(void) {
    LAYERS for (int which = 0; which < TRACERS; which++) advance_row(tracer[which], ahead[which], 0.5, 0.5, k, j);
}

static void surface(void) {
    for (int number = 0; number < SHORT; number++) {
        COLUMNS for (long i = 0; i < n; i++) {
            long at = j * n + i;
            mean_east[at] -= WAVE * (height[j * n + around(i + 1)] - height[at]);
            mean_north[at] -= WAVE * (height[around(j + 1) * n + i] - height[at]);
        }
        COLUMNS for (long i = 0; i < n; i++) {
            long at = j * n + i;
            double out = mean_east[at] - mean_east[j * n + around(i - 1)];
            height[at] -= WAVE * (out + mean_north[at] - mean_north[around(j - 1) * n + i]);
        }
    }
}

static void follow(void) {
    LAYERS for (long i = 0; i < n; i++) {
        long at = k * plane + j * n + i;
        east[at] = CURRENT_X + mean_east[j * n + i];
        north[at] = CURRENT_Y + mean_north[j * n + i];
    }
}

/* (1 - d/dz mixing d/dz) T = T of before, without a flux at the top and at the bottom: Thomas' algorithm. */
static void mix(void) {
    COLUMNS {
        double held[layers][n];
        for (int which = 0; which < TRACERS; which++) {
            double *of = tracer[which] + j * n;
            for (long k = 0; k < layers; k++)
                for (long i = 0; i < n; i++) {
                    double above = k + 1 < layers ? mixing[k * plane + j * n + i] : 0;
                    double below = k ? mixing[(k - 1) * plane + j * n + i] : 0;
                    double pivot = 1 + above + below - (k ? below * held[k - 1][i] : 0);
                    held[k][i] = above / pivot;
                    of[k * plane + i] = (of[k * plane + i] + (k ? below * of[(k - 1) * plane + i] : 0)) / pivot;
                }
            for (long k = layers - 1; k-- > 0;)
                for (long i = 0; i < n; i++)
                    of[k * plane + i] += held[k][i] * of[(k + 1) * plane + i];
        }
    }
}

static void step(void) {
    predict();
    surface();
    correct();
    follow();
    mix();
}

/* Wave number of the waves [radians a cell]. */
static double wave(void) { return 2 * M_PI / (double)n; }

/* A tracer's wave in a column: the lowest mode of mixing over a mean of 1. */
static double shape(long k) { return cos(M_PI * ((double)k + 0.5) / (double)layers); }

static void begin(void) {
    double turned[2 * n];
    for (long i = 0; i < 2 * n; i++)
        turned[i] = cos(wave() * (double)i);
    LAYERS for (long i = 0; i < n; i++) {
        long at = k * plane + j * n + i;
        double found = shape(k) * turned[i + j];
        tracer[0][at] = 1 + found, tracer[1][at] = 1 - found;
        east[at] = CURRENT_X, north[at] = CURRENT_Y, mixing[at] = MIXING;
    }
    COLUMNS for (long i = 0; i < n; i++) height[j * n + i] = SMALL * cos(wave() * (double)i) * cos(wave() * (double)j);
}

/* The factor by which a step multiplies the tracer's wave: of the current, by Heun's method, and of mixing. */
static double complex factor(void) {
    double complex east_of = cexp(I * wave());
    double complex upstream = (2 * east_of + 3 - 6 / east_of + 1 / (east_of * east_of)) / 6;
    double complex change_of = -(CURRENT_X + CURRENT_Y) * upstream;
    double half = sin(M_PI / (2 * (double)layers));
    return (1 + change_of + change_of * change_of / 2) / (1 + 4 * MIXING * half * half);
}

/* Height over the first height after a number of short steps. It swings, and its first current is zero, half a step late. */
static double swing(long number) {
    double half = sin(wave() / 2), turn = 2 * asin(WAVE * sqrt(2 * half * half));
    return cos(turn * ((double)number + 0.5)) / cos(turn / 2);
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Whether a figure is what the scheme says; prints both. */
static int agrees(const char *what, double found, double wanted, double within) {
    printf("# %s %.17g exact %.17g\n", what, found, wanted);
    if (fabs(found - wanted) <= within)
        return 1;
    fprintf(stderr, "ocean: the %s is not the scheme's\n", what);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 5 || (n = atol(argv[1])) < 8 || (layers = atol(argv[2])) < 2 || atol(argv[3]) < 0 || atol(argv[4]) < 1) {
        fputs("ocean: N LAYERS WARM STEPS; N is 8 or more, LAYERS 2 or more\n", stderr);
        return 2;
    }
    long warm = atol(argv[3]), steps = atol(argv[4]);
    plane = n * n;
    double **deep[] = {&tracer[0], &tracer[1], &ahead[0], &ahead[1], &east, &north, &mixing};
    double **flat[] = {&height, &mean_east, &mean_north};
    for (int place = 0; place < 7; place++)
        *deep[place] = field(layers);
    for (int place = 0; place < 3; place++)
        *flat[place] = field(1);
    begin();
    CXLAB_REGION_BEGIN;
    for (long number = 0; number < warm; number++)
        step();
    double begun = seconds();
    for (long number = 0; number < steps; number++)
        step();
    double taken = seconds() - begun;
    CXLAB_REGION_END;
    double total = 0;
    for (long at = 0; at < plane * layers; at++)
        total += tracer[0][at];
    const long all = warm + steps, k = layers - 1;
    int right = agrees("mean", total / (double)(plane * layers), 1, 1e-9);
    right &= agrees("tracer", tracer[0][k * plane], 1 + shape(k) * creal(cpow(factor(), (double)all)), 1e-6);
    right &= agrees("surface", height[0] / SMALL, swing(all * SHORT), 1e-6);
    if (!right)
        return 1;
    printf("measure time_per_step %.9g\n", taken / (double)steps * 1e3);
    printf("measure cells_per_second %.9g\n", (double)(plane * layers * steps) / taken);
    return 0;
}
