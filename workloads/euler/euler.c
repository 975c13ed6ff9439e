/* The compressible Euler equations in two dimensions: a Lagrangian step and an advective remap on a staggered grid.
 *
 *   euler NX NY WARM STEPS         a hot corner of a square; prints the time of STEPS steps, after WARM ones
 *   euler sod CELLS DIRECTION      Sod's shock tube along x or y at time 0.2: position, density, velocity, pressure
 *
 * The kernels and their traffic are those that CloverLeaf's authors describe: density, energy and pressure in cells,
 * velocities at corners, predictor and corrector, then second-order limited advection in x and y, in turns.
 * Source: A. Mallinson et al., CloverLeaf: Preparing hydrodynamics codes for exascale, CUG 2013; B. van Leer, Towards
 * the ultimate conservative difference scheme IV, 1977. OMP_NUM_THREADS threads. Walls reflect. The gas has 1.4. */
#include "cxlab/marker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HALO 2
#define GAMMA 1.4
/* Courant numbers of sound and of the flow, and the most that a step may grow by. */
#define OF_SOUND 0.5
#define OF_FLOW 0.5
#define GROWTH 1.5

static long nx, ny, pitch, cells;
static double dx, dy;
static double *density0, *density1, *energy0, *energy1, *pressure, *viscosity, *sound;
static double *velocity0[2], *velocity1[2], *volume_flux[2], *mass_flux[2];
static double *flux, *before, *node_flux, *node_before, *node_after;

#define AT(j, k) (((k) + HALO) * pitch + (j) + HALO)
/* Rows of cells, each with its columns. */
#define EACH(from_j, to_j, from_k, to_k)                                                                               \
    _Pragma("omp parallel for schedule(static)") for (long k = (from_k); k < (to_k); k++)                             \
        for (long j = (from_j), at = AT(from_j, k); j < (to_j); j++, at++)

static double *field(void) {
    double *made = aligned_alloc(64, (size_t)((cells * 8 + 63) / 64 * 64));
    if (made == NULL) {
        fputs("euler: there is not enough memory\n", stderr);
        exit(1);
    }
    /* Threads touch first what they will work on. */
    _Pragma("omp parallel for schedule(static)") for (long k = 0; k < ny + 2 * HALO + 1; k++)
        memset(made + k * pitch, 0, (size_t)pitch * 8);
    return made;
}

/* Values beyond the walls. Fields with a point on a wall (`points`) mirror at it, others at the wall between cells. */
static void mirror(double *of, int on_x, int on_y, double sign_x, double sign_y) {
    long columns = nx + on_x, rows = ny + on_y;
    for (long k = 0; k < rows; k++)
        for (long i = 0; i < HALO; i++) {
            of[AT(-1 - i, k)] = sign_x * of[AT(i + on_x, k)];
            of[AT(columns + i, k)] = sign_x * of[AT(columns - 1 - on_x - i, k)];
        }
    for (long i = 0; i < HALO; i++)
        for (long j = -HALO; j < columns + HALO; j++) {
            of[AT(j, -1 - i)] = sign_y * of[AT(j, i + on_y)];
            of[AT(j, rows + i)] = sign_y * of[AT(j, rows - 1 - on_y - i)];
        }
}

static void mirror_cells(double *of) { mirror(of, 0, 0, 1, 1); }

static void mirror_velocities(double **of) {
    mirror(of[0], 1, 1, -1, 1);
    mirror(of[1], 1, 1, 1, -1);
}

static void ideal_gas(const double *density, const double *energy) {
    EACH(0, nx, 0, ny) {
        pressure[at] = (GAMMA - 1) * density[at] * energy[at];
        sound[at] = sqrt(GAMMA * pressure[at] / density[at]);
    }
    mirror_cells(pressure);
}

/* Artificial viscosity in cells that are compressed: quadratic in the change of velocity, and linear. */
static void find_viscosity(void) {
    const double *u = velocity0[0], *v = velocity0[1];
    EACH(0, nx, 0, ny) {
        double across = (u[at + 1] + u[at + 1 + pitch] - u[at] - u[at + pitch]) / 2;
        double along = (v[at + pitch] + v[at + 1 + pitch] - v[at] - v[at + 1]) / 2;
        double change = across + along;
        double strength = 2 * change * change - 0.25 * sound[at] * change;
        viscosity[at] = change < 0 ? density0[at] * strength : 0;
    }
    mirror_cells(viscosity);
}

static double time_step(double last) {
    double least = last * GROWTH;
    const double *u = velocity0[0], *v = velocity0[1];
    _Pragma("omp parallel for schedule(static) reduction(min : least)") for (long k = 0; k < ny; k++)
        for (long j = 0, at = AT(0, k); j < nx; j++, at++) {
            double fast = sqrt(sound[at] * sound[at] + 2 * viscosity[at] / density0[at]);
            double speed = fmax(fabs(u[at]), fabs(v[at]));
            double of_sound = OF_SOUND * fmin(dx, dy) / fast;
            double of_flow = OF_FLOW * fmin(dx, dy) / (speed + 1e-30);
            least = fmin(least, fmin(of_sound, of_flow));
        }
    return least;
}

/* Work of the pressure over `dt`; velocities are the mean of two sets. */
static void compress(double dt, double **one, double **two) {
    const double *u = one[0], *v = one[1], *u2 = two[0], *v2 = two[1];
    double across = dt * dy / 4, along = dt * dx / 4, volume = dx * dy;
    EACH(0, nx, 0, ny) {
        double left = across * (u[at] + u[at + pitch] + u2[at] + u2[at + pitch]);
        double right = across * (u[at + 1] + u[at + 1 + pitch] + u2[at + 1] + u2[at + 1 + pitch]);
        double bottom = along * (v[at] + v[at + 1] + v2[at] + v2[at + 1]);
        double top = along * (v[at + pitch] + v[at + 1 + pitch] + v2[at + pitch] + v2[at + 1 + pitch]);
        double growth = right - left + top - bottom;
        energy1[at] = energy0[at] - (pressure[at] + viscosity[at]) / density0[at] * growth / volume;
        density1[at] = density0[at] * volume / (volume + growth);
    }
}

static void accelerate(double dt) {
    const double *p = pressure, *q = viscosity, *d = density0;
    double half = dt / 2, quarter_volume = dx * dy / 4;
    EACH(0, nx + 1, 0, ny + 1) {
        long left = at - 1, below = at - pitch, corner = at - pitch - 1;
        double step = half / ((d[at] + d[left] + d[below] + d[corner]) * quarter_volume);
        double pushed = p[at] - p[left] + p[below] - p[corner] + q[at] - q[left] + q[below] - q[corner];
        double lifted = p[at] - p[below] + p[left] - p[corner] + q[at] - q[below] + q[left] - q[corner];
        velocity1[0][at] = velocity0[0][at] - step * dy * pushed;
        velocity1[1][at] = velocity0[1][at] - step * dx * lifted;
    }
    mirror_velocities(velocity1);
}

static void find_volume_fluxes(double dt) {
    const double *u = velocity0[0], *u2 = velocity1[0], *v = velocity0[1], *v2 = velocity1[1];
    EACH(0, nx + 1, 0, ny) volume_flux[0][at] = dt * dy / 4 * (u[at] + u[at + pitch] + u2[at] + u2[at + pitch]);
    EACH(0, nx, 0, ny + 1) volume_flux[1][at] = dt * dx / 4 * (v[at] + v[at + 1] + v2[at] + v2[at + 1]);
    mirror(volume_flux[0], 1, 0, -1, 1);
    mirror(volume_flux[1], 0, 1, 1, -1);
}

/* Third-order upwind slope, limited so that no new extreme arises. */
static inline double limited(double upwind, double donor, double downwind, double crossed) {
    double behind = donor - upwind, ahead = downwind - donor;
    double third = ((1 + crossed) * fabs(behind) + (2 - crossed) * fabs(ahead)) / 6;
    double least = fmin(fmin(fabs(behind), fabs(ahead)), third);
    return behind * ahead > 0 ? (1 - crossed) * copysign(least, ahead) : 0;
}

/* Density and energy along one direction; `first`: the other direction has yet to come. */
static void advect_cells(int direction, int first) {
    long s = direction == 0 ? 1 : pitch, t = direction == 0 ? pitch : 1;
    const double *along = volume_flux[direction], *other = volume_flux[1 - direction];
    double *mass = mass_flux[direction], volume = dx * dy;
    EACH(-2, nx + 2, -2, ny + 2) {
        before[at] = volume + along[at + s] - along[at] + (first ? other[at + t] - other[at] : 0);
    }
    EACH(0, nx + (direction == 0), 0, ny + (direction == 1)) {
        long donor = along[at] > 0 ? at - s : at, upwind = along[at] > 0 ? at - 2 * s : at + s;
        long downwind = along[at] > 0 ? at : at - s;
        double crossed = fabs(along[at]) / before[donor], d = density1[donor];
        mass[at] = along[at] * (d + limited(density1[upwind], d, density1[downwind], crossed));
        double carried = fabs(mass[at]) / (d * before[donor]), e = energy1[donor];
        flux[at] = mass[at] * (e + limited(energy1[upwind], e, energy1[downwind], carried));
    }
    EACH(0, nx, 0, ny) {
        double mass_before = density1[at] * before[at], mass_after = mass_before + mass[at] - mass[at + s];
        energy1[at] = (energy1[at] * mass_before + flux[at] - flux[at + s]) / mass_after;
        density1[at] = mass_after / (before[at] + along[at] - along[at + s]);
    }
    mirror_cells(density1);
    mirror_cells(energy1);
    if (direction == 0)
        mirror(mass, 1, 0, -1, 1);
    else
        mirror(mass, 0, 1, 1, -1);
}

/* Momentum at corners, carried by the mass that `advect_cells` has moved. */
static void advect_momentum(int direction, int first) {
    long s = direction == 0 ? 1 : pitch, t = direction == 0 ? pitch : 1;
    const double *mass = mass_flux[direction], *other = volume_flux[1 - direction];
    double volume = dx * dy;
    EACH(-2, nx + 2, -2, ny + 2) before[at] = density1[at] * (volume + (first ? other[at + t] - other[at] : 0));
    EACH(-1, nx + 2, -1, ny + 2) {
        node_flux[at] = (mass[at] + mass[at - t] + mass[at + s] + mass[at + s - t]) / 4;
        node_after[at] = (before[at] + before[at - 1] + before[at - pitch] + before[at - pitch - 1]) / 4;
    }
    EACH(0, nx + 1, 0, ny + 1) node_before[at] = node_after[at] - node_flux[at - s] + node_flux[at];
    mirror(node_before, 1, 1, 1, 1);
    for (int which = 0; which < 2; which++) {
        double *v = velocity1[which];
        EACH(direction == 0 ? -1 : 0, nx + 1, direction == 1 ? -1 : 0, ny + 1) {
            long donor = node_flux[at] < 0 ? at + s : at, upwind = node_flux[at] < 0 ? at + 2 * s : at - s;
            long downwind = node_flux[at] < 0 ? at : at + s;
            double carried = fabs(node_flux[at]) / node_before[donor];
            flux[at] = node_flux[at] * (v[donor] + limited(v[upwind], v[donor], v[downwind], carried));
        }
        EACH(0, nx + 1, 0, ny + 1) {
            v[at] = (v[at] * node_before[at] + flux[at - s] - flux[at]) / node_after[at];
        }
    }
    mirror_velocities(velocity1);
}

static void take_over(void) {
    EACH(-2, nx + 2, -2, ny + 2) density0[at] = density1[at], energy0[at] = energy1[at];
    EACH(-2, nx + 3, -2, ny + 3) velocity0[0][at] = velocity1[0][at], velocity0[1][at] = velocity1[1][at];
}

/* One step of at most `most`; its length. */
static double step(long number, double last, double most) {
    ideal_gas(density0, energy0);
    find_viscosity();
    double dt = fmin(time_step(last), most);
    compress(dt / 2, velocity0, velocity0);
    ideal_gas(density1, energy1);
    accelerate(dt);
    compress(dt, velocity0, velocity1);
    mirror_cells(density1);
    mirror_cells(energy1);
    find_volume_fluxes(dt);
    int first = (int)(number % 2);
    advect_cells(first, 1);
    advect_momentum(first, 1);
    advect_cells(1 - first, 0);
    advect_momentum(1 - first, 0);
    take_over();
    return dt;
}

static void allocate(void) {
    pitch = (nx + 2 * HALO + 1 + 7) / 8 * 8;
    cells = pitch * (ny + 2 * HALO + 1);
    double **all[] = {&density0, &density1, &energy0, &energy1, &pressure, &viscosity, &sound, &velocity0[0],
                      &velocity0[1], &velocity1[0], &velocity1[1], &volume_flux[0], &volume_flux[1], &mass_flux[0],
                      &mass_flux[1], &flux, &before, &node_flux, &node_before, &node_after};
    for (size_t place = 0; place < sizeof all / sizeof *all; place++)
        *all[place] = field();
}

static void set(long j, long k, double density, double gas_pressure) {
    density0[AT(j, k)] = density;
    energy0[AT(j, k)] = gas_pressure / ((GAMMA - 1) * density);
}

/* Mass, and energy of heat and motion. */
static void sums(double *mass, double *energy) {
    double m = 0, e = 0;
    for (long k = 0; k < ny; k++)
        for (long j = 0; j < nx; j++) {
            long at = AT(j, k);
            double squares = 0;
            for (int which = 0; which < 2; which++) {
                const double *v = velocity0[which];
                squares += v[at] * v[at] + v[at + 1] * v[at + 1] + v[at + pitch] * v[at + pitch] +
                           v[at + pitch + 1] * v[at + pitch + 1];
            }
            m += density0[at] * dx * dy;
            e += density0[at] * dx * dy * (energy0[at] + squares / 8);
        }
    *mass = m, *energy = e;
}

static void sod(long count, int direction) {
    nx = direction == 0 ? count : 4, ny = direction == 0 ? 4 : count;
    dx = dy = 1.0 / (double)count;
    allocate();
    for (long k = 0; k < ny; k++)
        for (long j = 0; j < nx; j++) {
            long place = direction == 0 ? j : k;
            set(j, k, place < count / 2 ? 1.0 : 0.125, place < count / 2 ? 1.0 : 0.1);
        }
    mirror_cells(density0), mirror_cells(energy0);
    double mass, energy, mass_after, energy_after, time = 0, dt = 1e-4;
    sums(&mass, &energy);
    for (long number = 0; time < 0.2; number++)
        time += dt = step(number, dt, 0.2 - time);
    ideal_gas(density0, energy0);
    sums(&mass_after, &energy_after);
    printf("# mass %.17g %.17g energy %.17g %.17g\n", mass, mass_after, energy, energy_after);
    for (long place = 0; place < count; place++) {
        long at = direction == 0 ? AT(place, 2) : AT(2, place), s = direction == 0 ? 1 : pitch;
        double speed = (velocity0[direction][at] + velocity0[direction][at + s]) / 2;
        printf("%.9g %.9g %.9g %.9g\n", ((double)place + 0.5) * dx, density0[at], speed, pressure[at]);
    }
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void square(long warm, long steps) {
    dx = dy = 10.0 / (double)nx;
    allocate();
    for (long k = 0; k < ny; k++)
        for (long j = 0; j < nx; j++) {
            int hot = j < nx / 2 && k < ny / 5;
            set(j, k, hot ? 1.0 : 0.2, (GAMMA - 1) * (hot ? 2.5 : 0.2));
        }
    mirror_cells(density0), mirror_cells(energy0);
    double mass, mass_after, energy, dt = 1e-4;
    sums(&mass, &energy);
    CXLAB_REGION_BEGIN;
    for (long number = 0; number < warm; number++)
        dt = step(number, dt, 1);
    double begun = seconds();
    for (long number = warm; number < warm + steps; number++)
        dt = step(number, dt, 1);
    double taken = seconds() - begun;
    CXLAB_REGION_END;
    sums(&mass_after, &energy);
    if (!(fabs(mass_after / mass - 1) < 1e-9)) {
        fprintf(stderr, "euler: the mass was %.17g and is %.17g\n", mass, mass_after);
        exit(1);
    }
    printf("measure time_per_step %.9g\n", taken / (double)steps * 1e3);
    printf("measure cells_per_second %.9g\n", (double)(nx * ny * steps) / taken);
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "sod") == 0) {
        sod(atol(argv[2]), argv[3][0] == 'y');
        return 0;
    }
    if (argc != 5 || (nx = atol(argv[1])) < 4 || (ny = atol(argv[2])) < 4 || atol(argv[4]) < 1) {
        fputs("euler: NX NY WARM STEPS or sod CELLS DIRECTION; the file says more\n", stderr);
        return 2;
    }
    square(atol(argv[3]), atol(argv[4]));
    return 0;
}
