/* Maxwell's equations in a box with perfectly conducting walls, by finite differences in time: Yee's scheme.
 *
 *   fdtd N WARM STEPS        a cube of N cells a side; prints the time of STEPS steps, after WARM ones
 *
 * The box holds its lowest mode, whose field in Yee's scheme is known exactly: Ez at the middle is cos(w t), with w
 * from the scheme's own dispersion relation. The program checks that at its end. OMP_NUM_THREADS threads.
 * Source: K. Yee, IEEE Trans. Antennas Propag. 14 (1966); A. Taflove and S. Hagness, Computational Electrodynamics. */
#include "cxlab/marker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Cells that light crosses in a step; the scheme is stable below 1 / sqrt(3). */
#define COURANT 0.5

static long n, row, plane;
static double *ex, *ey, *ez, *hx, *hy, *hz;

#define EACH(from_i, from_j, from_k, to_i, to_j, to_k)                                                                 \
    _Pragma("omp parallel for schedule(static)") for (long k = (from_k); k < (to_k); k++)                             \
        for (long j = (from_j); j < (to_j); j++)                                                                       \
            for (long i = (from_i), at = k * plane + j * row + (from_i); i < (to_i); i++, at++)

static double *field(void) {
    double *made = aligned_alloc(64, (size_t)(plane * (n + 1) * 8 + 63) / 64 * 64);
    if (made == NULL) {
        fputs("fdtd: there is not enough memory\n", stderr);
        exit(1);
    }
    _Pragma("omp parallel for schedule(static)") for (long k = 0; k <= n; k++)
        memset(made + k * plane, 0, (size_t)plane * 8);
    return made;
}

/* Corners are numbered 0 to n. An electric component lies on the edge that leaves its corner, a magnetic one on the
 * face; tangential electric components on a wall stay zero. */
static void step(void) {
    EACH(0, 0, 0, n + 1, n, n) hx[at] -= COURANT * ((ez[at + row] - ez[at]) - (ey[at + plane] - ey[at]));
    EACH(0, 0, 0, n, n + 1, n) hy[at] -= COURANT * ((ex[at + plane] - ex[at]) - (ez[at + 1] - ez[at]));
    EACH(0, 0, 0, n, n, n + 1) hz[at] -= COURANT * ((ey[at + 1] - ey[at]) - (ex[at + row] - ex[at]));
    EACH(0, 1, 1, n, n, n) ex[at] += COURANT * ((hz[at] - hz[at - row]) - (hy[at] - hy[at - plane]));
    EACH(1, 0, 1, n, n, n) ey[at] += COURANT * ((hx[at] - hx[at - plane]) - (hz[at] - hz[at - 1]));
    EACH(1, 1, 0, n, n, n) ez[at] += COURANT * ((hy[at] - hy[at - 1]) - (hx[at] - hx[at - row]));
}

/* Frequency of the mode with half a wave along x and along y, in radians a step, from the scheme's dispersion. */
static double frequency(void) {
    double half = sin(M_PI / (2 * (double)n));
    return 2 * asin(COURANT * sqrt(2 * half * half));
}

/* The mode's electric field at step 0, and its magnetic field half a step before, which leads to it. */
static void excite(void) {
    double wave = M_PI / (double)n, strength = COURANT * sin(wave / 2), at_corner[n + 1], between[n + 1];
    for (long i = 0; i <= n; i++)
        at_corner[i] = sin(wave * (double)i), between[i] = i < n ? cos(wave * ((double)i + 0.5)) : 0;
    EACH(0, 0, 0, n + 1, n + 1, n) {
        ez[at] = at_corner[i] * at_corner[j];
        hx[at] = strength * at_corner[i] * between[j];
        hy[at] = -strength * between[i] * at_corner[j];
    }
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc != 4 || (n = atol(argv[1])) < 4 || n % 2 != 0 || atol(argv[3]) < 1) {
        fputs("fdtd: N WARM STEPS; N is even and 4 or more\n", stderr);
        return 2;
    }
    long warm = atol(argv[2]), steps = atol(argv[3]);
    row = (n + 1 + 7) / 8 * 8, plane = row * (n + 1);
    double **all[] = {&ex, &ey, &ez, &hx, &hy, &hz};
    for (int place = 0; place < 6; place++)
        *all[place] = field();
    excite();
    CXLAB_REGION_BEGIN;
    for (long number = 0; number < warm; number++)
        step();
    double begun = seconds();
    for (long number = 0; number < steps; number++)
        step();
    double taken = seconds() - begun;
    CXLAB_REGION_END;
    double found = ez[n / 2 * plane + n / 2 * row + n / 2], wanted = cos(frequency() * (double)(warm + steps));
    printf("# middle %.17g exact %.17g\n", found, wanted);
    if (!(fabs(found - wanted) < 1e-9)) {
        fputs("fdtd: the field is not the mode's\n", stderr);
        return 1;
    }
    printf("measure time_per_step %.9g\n", taken / (double)steps * 1e3);
    printf("measure cells_per_second %.9g\n", (double)(n * n * n * steps) / taken);
    return 0;
}
