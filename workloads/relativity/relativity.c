/* Einstein's equations in empty space, in three dimensions and time: Arnowitt, Deser and Misner's form, harmonic slicing.
 *
 *   relativity N WARM STEPS       a periodic cube of N points a side; prints the time of STEPS steps, after WARM ones
 *
 * The fields are the metric g_ij, the extrinsic curvature K_ij and the lapse a, 13 numbers a point. A step is four stages
 * of Runge and Kutta. A stage reads a point and its neighbours two points away, by differences of fourth order:
 *
 *   dg_ij/dt = -2 a K_ij
 *   dK_ij/dt = -D_i D_j a + a (R_ij + K K_ij - 2 K_im K^m_j)
 *   da/dt    = -a^2 K
 *
 * The cube holds a gauge wave, whose solution is known (M. Alcubierre et al., Class. Quantum Grav. 21 (2004), "Towards
 * standard testbeds for numerical relativity", 4.2). The program compares with it at its end. OMP_NUM_THREADS threads. */
#include "cxlab/marker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Fields: six of the metric, six of the curvature, the lapse. Symmetric tensors are xx, xy, xz, yy, yz, zz. */
enum { METRIC = 0, CURVATURE = 6, LAPSE = 12, FIELDS = 13 };
static const int pair[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
/* Distances that light crosses in a step; height of the wave. */
#define COURANT 0.25
#define AMPLITUDE 0.01

/* Points that are computed together, and what a row has before its first point and behind its last: the periodic ends. */
enum { TOGETHER = 4, BEFORE = 4, GHOSTS = 2 };
typedef double Points __attribute__((vector_size(TOGETHER * sizeof(double))));

static long n, row, plane, points;
/* The fields at the beginning of a step, in a stage, in the next stage, and at the step's end. */
static double *start[FIELDS], *now[FIELDS], *next[FIELDS], *end[FIELDS];

#define POINTS _Pragma("omp parallel for schedule(static)") for (long k = 0; k < n; k++) for (long j = 0; j < n; j++)
#define EACH3(i) for (int i = 0; i < 3; i++)

static double *field(void) {
    double *made = aligned_alloc(64, (size_t)(points * 8 + 63) / 64 * 64);
    if (made == NULL) {
        fputs("relativity: there is not enough memory\n", stderr);
        exit(1);
    }
    POINTS memset(made + k * plane + j * row, 0, (size_t)row * 8);
    return made;
}

/* The place of a point in its field. */
static inline long place(long i, long j, long k) { return k * plane + j * row + BEFORE + i; }

/* The ends of a row are its other end's points. */
static inline void close_row(double *of, long j, long k) {
    for (long ghost = 0; ghost < GHOSTS; ghost++) {
        of[place(-1 - ghost, j, k)] = of[place(n - 1 - ghost, j, k)];
        of[place(n + ghost, j, k)] = of[place(ghost, j, k)];
    }
}

/* Where the neighbours of a point are: [axis][distance + 2], relative to it. */
typedef long Around[3][5];

static long along(long place, long distance, long stride) {
    return ((place + distance + n) % n - place) * stride;
}

static inline Points load(const double *at) {
    Points found;
    memcpy(&found, at, sizeof found);
    return found;
}

static inline void store(double *at, Points of) { memcpy(at, &of, sizeof of); }

static inline Points first(const double *at, const long *side, double per) {
    return (load(at + side[0]) - load(at + side[4]) + 8 * (load(at + side[3]) - load(at + side[1]))) * (per / 12);
}

static inline Points second(const double *at, const long *side, double per) {
    Points near = load(at + side[1]) + load(at + side[3]), far = load(at + side[0]) + load(at + side[4]);
    return (16 * near - far - 30 * load(at)) * (per * per / 12);
}

/* The derivative along two axes: differences of differences. */
static inline Points mixed(const double *at, const long *a, const long *b, double per) {
    Points near = first(at + b[3], a, per) - first(at + b[1], a, per);
    return (first(at + b[0], a, per) - first(at + b[4], a, per) + 8 * near) * (per / 12);
}

/* All derivatives of a field at a point: d[i], and dd by pairs. */
static inline __attribute__((always_inline)) void derive(const double *at, Around around, double per, Points d[3],
                                                          Points dd[6]) {
    EACH3(i) d[i] = first(at, around[i], per);
    EACH3(i) dd[pair[i][i]] = second(at, around[i], per);
    dd[1] = mixed(at, around[0], around[1], per);
    dd[2] = mixed(at, around[0], around[2], per);
    dd[4] = mixed(at, around[1], around[2], per);
}

/* The inverse of a symmetric matrix. */
static inline void invert(const Points g[6], Points up[6]) {
    Points xx = g[3] * g[5] - g[4] * g[4], xy = g[2] * g[4] - g[1] * g[5], xz = g[1] * g[4] - g[2] * g[3];
    Points per = 1 / (g[0] * xx + g[1] * xy + g[2] * xz);
    up[0] = xx * per, up[1] = xy * per, up[2] = xz * per;
    up[3] = (g[0] * g[5] - g[2] * g[2]) * per;
    up[4] = (g[1] * g[2] - g[0] * g[4]) * per;
    up[5] = (g[0] * g[3] - g[1] * g[1]) * per;
}

/* The change of all fields in a unit of time, at some points of a row. */
static inline __attribute__((always_inline)) void change(long at, Around around, double per, Points of[FIELDS]) {
    Points g[6], up[6], curved[6], dg[6][3], ddg[6][6], da[3], dda[6];
    for (int t = 0; t < 6; t++) {
        g[t] = load(now[METRIC + t] + at), curved[t] = load(now[CURVATURE + t] + at);
        derive(now[METRIC + t] + at, around, per, dg[t], ddg[t]);
    }
    const Points lapse = load(now[LAPSE] + at);
    derive(now[LAPSE] + at, around, per, da, dda);
    invert(g, up);

    /* Christoffel symbols with the first index down, then up: [m][pair of i and j]. */
    Points low[3][6], high[3][6];
    EACH3(m) EACH3(i) for (int j = i; j < 3; j++)
        low[m][pair[i][j]] = (dg[pair[m][i]][j] + dg[pair[m][j]][i] - dg[pair[i][j]][m]) / 2;
    EACH3(m) for (int t = 0; t < 6; t++) {
        high[m][t] = up[pair[m][0]] * low[0][t];
        for (int l = 1; l < 3; l++) high[m][t] += up[pair[m][l]] * low[l][t];
    }
    /* The curvature with one index up, and its trace. */
    Points raised[3][3], trace;
    EACH3(m) EACH3(j) {
        raised[m][j] = up[pair[m][0]] * curved[pair[0][j]];
        for (int l = 1; l < 3; l++) raised[m][j] += up[pair[m][l]] * curved[pair[l][j]];
    }
    trace = raised[0][0] + raised[1][1] + raised[2][2];

    EACH3(i) for (int j = i; j < 3; j++) {
        const int t = pair[i][j];
        Points ricci = lapse - lapse, square = ricci, slope = dda[t];
        EACH3(k) EACH3(l) {
            Points products = (ddg[pair[k][j]][pair[i][l]] + ddg[pair[i][l]][pair[k][j]] - ddg[pair[k][l]][t] -
                               ddg[t][pair[k][l]]) / 2;
            EACH3(m) products += high[m][pair[i][l]] * low[m][pair[k][j]] - high[m][t] * low[m][pair[k][l]];
            ricci += up[pair[k][l]] * products;
        }
        EACH3(m) square += curved[pair[i][m]] * raised[m][j];
        EACH3(m) slope -= high[m][t] * da[m];
        of[METRIC + t] = -2 * lapse * curved[t];
        of[CURVATURE + t] = -slope + lapse * (ricci + trace * curved[t] - 2 * square);
    }
    of[LAPSE] = -lapse * lapse * trace;
}

/* A stage: next = start + to_next dt change, end += to_end dt change. */
static void stage(double to_next, double to_end) {
    const double dt = COURANT / (double)n, per = (double)n;
    POINTS {
        Around around;
        for (int distance = -2; distance <= 2; distance++) {
            around[0][distance + 2] = distance;
            around[1][distance + 2] = along(j, distance, row);
            around[2][distance + 2] = along(k, distance, plane);
        }
        for (long i = 0; i < n; i += TOGETHER) {
            const long at = place(i, j, k);
            Points of[FIELDS];
            change(at, around, per, of);
            for (int f = 0; f < FIELDS; f++) {
                store(next[f] + at, load(start[f] + at) + to_next * dt * of[f]);
                store(end[f] + at, load(end[f] + at) + to_end * dt * of[f]);
            }
        }
        for (int f = 0; f < FIELDS; f++)
            close_row(next[f], j, k), close_row(end[f], j, k);
    }
}

static void swap(double *a[FIELDS], double *b[FIELDS]) {
    for (int f = 0; f < FIELDS; f++) {
        double *held = a[f];
        a[f] = b[f], b[f] = held;
    }
}

/* a = b, at every point. */
static void copy(double *a[FIELDS], double *b[FIELDS]) {
    POINTS for (int f = 0; f < FIELDS; f++) memcpy(a[f] + k * plane + j * row, b[f] + k * plane + j * row, (size_t)row * 8);
}

static void step(void) {
    copy(start, now);
    copy(end, now);
    stage(0.5, 1.0 / 6), swap(now, next);
    stage(0.5, 1.0 / 3), swap(now, next);
    stage(1.0, 1.0 / 3), swap(now, next);
    stage(0.0, 1.0 / 6), swap(now, end);
}

/* The wave at a time: g_xx, its curvature, and the lapse. It runs along x, and the cube is one wave long. */
static void wave(long i, double at_time, double *metric, double *curvature, double *lapse) {
    double phase = 2 * M_PI * ((double)i / (double)n - at_time), high = AMPLITUDE * sin(phase);
    *metric = 1 - high, *lapse = sqrt(1 - high), *curvature = -M_PI * AMPLITUDE * cos(phase) / *lapse;
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc != 4 || (n = atol(argv[1])) < 8 || n % TOGETHER != 0 || atol(argv[2]) < 0 || atol(argv[3]) < 1) {
        fputs("relativity: N WARM STEPS; N is a multiple of 4, and 8 or more\n", stderr);
        return 2;
    }
    long warm = atol(argv[2]), steps = atol(argv[3]);
    row = BEFORE + n + TOGETHER, plane = row * n, points = plane * n;
    double **all[] = {start, now, next, end};
    for (int which = 0; which < 4; which++)
        for (int f = 0; f < FIELDS; f++)
            all[which][f] = field();
    POINTS for (long i = -GHOSTS; i < n + GHOSTS; i++) {
        const long at = place(i, j, k);
        wave(i, 0, &now[METRIC][at], &now[CURVATURE][at], &now[LAPSE][at]);
        now[METRIC + 3][at] = now[METRIC + 5][at] = 1;
    }
    CXLAB_REGION_BEGIN;
    for (long number = 0; number < warm; number++)
        step();
    double begun = seconds();
    for (long number = 0; number < steps; number++)
        step();
    double taken = seconds() - begun;
    CXLAB_REGION_END;

    double farthest = 0, at_time = (double)(warm + steps) * COURANT / (double)n;
    for (long number = 0; number < n * n * n; number++) {
        const long i = number % n, at = place(i, number / n % n, number / n / n);
        double wanted[FIELDS] = {[METRIC + 3] = 1, [METRIC + 5] = 1};
        wave(i, at_time, &wanted[METRIC], &wanted[CURVATURE], &wanted[LAPSE]);
        for (int f = 0; f < FIELDS; f++)
            farthest = fmax(farthest, fabs(now[f][at] - wanted[f]));
    }
    /* A difference of fourth order loses (2 pi / N)^4 / 30 of a wave's phase; the largest field is pi times the height. */
    double within = AMPLITUDE * M_PI * (1e-9 + 2 * 2 * M_PI * at_time * pow(2 * M_PI / (double)n, 4) / 30);
    printf("# error %.9g within %.9g\n", farthest, within);
    if (!(farthest <= within)) {
        fputs("relativity: the wave is not the exact one\n", stderr);
        return 1;
    }
    printf("measure time_per_step %.9g\n", taken / (double)steps * 1e3);
    printf("measure points_per_second %.9g\n", (double)(n * n * n * steps) / taken);
    return 0;
}
