/* A decoder-only transformer makes one token after the other: LLaMA's layers with random 8-bit weights.
 *
 *   decode LAYERS DIMENSION CONTEXT TOKENS SEED          threads: OMP_NUM_THREADS
 *
 * A token reads every weight once, and the keys and values of all positions before it. So a token takes as long as
 * memory needs to deliver them. The layers are RMSNorm, attention with a cache of keys and values, and a gated
 * feed-forward network (Touvron et al., LLaMA, arXiv:2302.13971, section 2.2); positions are not rotated.
 * The last token is computed again by one thread in double precision; the program fails if the two differ.
 * One token before the measured ones starts the threads and brings in their code. */
#include "cxlab/marker.h"

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define HEAD 64

enum { Q, K, V, O, GATE, UP, DOWN, MATRICES };

struct layer {
    int8_t *weights[MATRICES];
    float *keys, *values;
};

static int layers, d, hidden, context, tokens;
static struct layer *all;
static float *state, *q, *mixed, *gate;

static void fail(const char *what) {
    fprintf(stderr, "decode: %s\n", what);
    exit(1);
}

static int rows_of(int matrix) { return matrix == GATE || matrix == UP ? hidden : d; }
static int columns_of(int matrix) { return matrix == DOWN ? hidden : d; }
/* Weights of a row have a variance of one over its columns. */
static float scale_of(int matrix) { return 1 / (73.9f * sqrtf((float)columns_of(matrix))); }

static uint64_t bits_of(uint64_t place) {
    uint64_t z = place * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void *pages(size_t bytes) {
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        fail("the guest has too little memory");
    return found;
}

static float sum_of(__m256 lanes) {
    float all_lanes[8], total = 0;
    _mm256_storeu_ps(all_lanes, lanes);
    for (int lane = 0; lane < 8; lane++)
        total += all_lanes[lane];
    return total;
}

static float dot(const int8_t *weights, const float *x, int n) {
    __m256 sum[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
    for (int i = 0; i < n; i += 32)
        for (int part = 0; part < 4; part++) {
            int at = i + 8 * part;
            __m128i eight = _mm_loadl_epi64((const __m128i *)(weights + at));
            __m256 wide = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight));
            sum[part] = _mm256_fmadd_ps(wide, _mm256_loadu_ps(x + at), sum[part]);
        }
    return sum_of((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

static float product(const float *x, const float *y, int n) {
    __m256 even = _mm256_setzero_ps(), odd = _mm256_setzero_ps();
    for (int i = 0; i < n; i += 16) {
        even = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i), even);
        odd = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 8), _mm256_loadu_ps(y + i + 8), odd);
    }
    return sum_of(even + odd);
}

/* A row of a matrix times a vector. */
static float row_of(const struct layer *layer, int matrix, int row, const float *x) {
    int columns = columns_of(matrix);
    return scale_of(matrix) * dot(layer->weights[matrix] + (size_t)row * columns, x, columns);
}

/* RMSNorm is one factor of the whole state, so each thread works it out for itself. */
static float norm_of(const float *x) { return 1 / sqrtf(product(x, x, d) / d + 1e-6f); }

/* The softmax of a head's scores over all positions weighs their values. */
static void attend(const struct layer *layer, int head, int positions) {
    float scores[positions], most = -INFINITY, total = 0, *mine = mixed + head * HEAD;
    for (int p = 0; p < positions; p++) {
        /* 8 is the root of HEAD. */
        scores[p] = product(layer->keys + (size_t)p * d + head * HEAD, q + head * HEAD, HEAD) / 8;
        most = fmaxf(most, scores[p]);
    }
    memset(mine, 0, HEAD * sizeof *mine);
    for (int p = 0; p < positions; p++) {
        const float *value = layer->values + (size_t)p * d + head * HEAD;
        float weight = expf(scores[p] - most);
        total += weight;
        for (int i = 0; i < HEAD; i++)
            mine[i] += weight * value[i];
    }
    for (int i = 0; i < HEAD; i++)
        mine[i] /= total;
}

/* The token at `position`; the team calls it together. Rows and heads are split among the threads, and the team
 * waits for the last one behind each loop but the first two. */
static void decode(int position) {
    for (int l = 0; l < layers; l++) {
        const struct layer *layer = all + l;
        float *key = layer->keys + (size_t)position * d, *value = layer->values + (size_t)position * d;
        float factor = norm_of(state);
#pragma omp for schedule(static) nowait
        for (int row = 0; row < d; row++)
            q[row] = factor * row_of(layer, Q, row, state);
#pragma omp for schedule(static) nowait
        for (int row = 0; row < d; row++)
            key[row] = factor * row_of(layer, K, row, state);
#pragma omp for schedule(static)
        for (int row = 0; row < d; row++)
            value[row] = factor * row_of(layer, V, row, state);
#pragma omp for schedule(static)
        for (int head = 0; head < d / HEAD; head++)
            attend(layer, head, position + 1);
#pragma omp for schedule(static)
        for (int row = 0; row < d; row++)
            state[row] += row_of(layer, O, row, mixed);
        factor = norm_of(state);
#pragma omp for schedule(static)
        for (int row = 0; row < hidden; row++) {
            float x = factor * row_of(layer, GATE, row, state);
            gate[row] = x / (1 + expf(-x)) * factor * row_of(layer, UP, row, state);
        }
#pragma omp for schedule(static)
        for (int row = 0; row < d; row++)
            state[row] += row_of(layer, DOWN, row, gate);
    }
}

static void plain(const struct layer *layer, int matrix, const double *x, double *y) {
    int columns = columns_of(matrix);
    for (int row = 0; row < rows_of(matrix); row++) {
        double sum = 0;
        for (int i = 0; i < columns; i++)
            sum += layer->weights[matrix][(size_t)row * columns + i] * x[i];
        y[row] = scale_of(matrix) * sum;
    }
}

static void plain_norm(const double *x, double *y) {
    double square = 0;
    for (int i = 0; i < d; i++)
        square += x[i] * x[i];
    for (int i = 0; i < d; i++)
        y[i] = x[i] / sqrt(square / d + 1e-6);
}

/* The token at `position` again, from the state `x` before it: the largest difference over the largest value. */
static double error_of(const float *before, int position) {
    double *x = calloc(7 * (size_t)d + 2 * (size_t)hidden, sizeof *x), worst = 0, largest = 0;
    double *n = x + d, *a = n + d, *k = a + d, *v = k + d, *m = v + d, *c = m + d, *g = c + d, *u = g + hidden;
    for (int i = 0; i < d; i++)
        x[i] = before[i];
    for (int l = 0; l < layers; l++) {
        const struct layer *layer = all + l;
        plain_norm(x, n);
        plain(layer, Q, n, a);
        plain(layer, K, n, k);
        plain(layer, V, n, v);
        for (int head = 0; head < d / HEAD; head++) {
            double total = 0, scores[position + 1], most = -INFINITY;
            for (int p = 0; p <= position; p++) {
                scores[p] = 0;
                for (int i = head * HEAD; i < (head + 1) * HEAD; i++)
                    scores[p] += a[i] * (p == position ? k[i] : layer->keys[(size_t)p * d + i]) / 8;
                most = fmax(most, scores[p]);
            }
            for (int p = 0; p <= position; p++)
                total += exp(scores[p] - most);
            for (int i = head * HEAD; i < (head + 1) * HEAD; i++) {
                m[i] = 0;
                for (int p = 0; p <= position; p++)
                    m[i] += exp(scores[p] - most) / total *
                            (p == position ? v[i] : layer->values[(size_t)p * d + i]);
            }
        }
        plain(layer, O, m, c);
        for (int i = 0; i < d; i++)
            x[i] += c[i];
        plain_norm(x, n);
        plain(layer, GATE, n, g);
        plain(layer, UP, n, u);
        for (int i = 0; i < hidden; i++)
            g[i] = g[i] / (1 + exp(-g[i])) * u[i];
        plain(layer, DOWN, g, c);
        for (int i = 0; i < d; i++)
            x[i] += c[i];
    }
    for (int i = 0; i < d; i++) {
        worst = fmax(worst, fabs(x[i] - state[i]));
        largest = fmax(largest, fabs(x[i]));
    }
    free(x);
    return worst / largest;
}

/* Every weight, and the keys and values of the context, from the seed. */
static void fill(uint64_t seed) {
    for (int l = 0; l < layers; l++) {
        struct layer *layer = all + l;
        for (int matrix = 0; matrix < MATRICES; matrix++) {
            size_t words = (size_t)rows_of(matrix) * columns_of(matrix) / 8;
            uint64_t *weights = pages(words * 8), first = seed << 40 | (uint64_t)(l * MATRICES + matrix) << 28;
            for (size_t i = 0; i < words; i++)
                weights[i] = bits_of(first + i);
            layer->weights[matrix] = (int8_t *)weights;
        }
        size_t cached = (size_t)(context + 1 + tokens) * d;
        layer->keys = pages(cached * sizeof(float));
        layer->values = pages(cached * sizeof(float));
        for (size_t i = 0; i < (size_t)context * d; i++) {
            uint64_t bits = bits_of(~(seed << 40) - (uint64_t)l * cached - i);
            layer->keys[i] = (float)(int32_t)bits * 0x1p-31f;
            layer->values[i] = (float)(int32_t)(bits >> 32) * 0x1p-31f;
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 6)
        fail("LAYERS DIMENSION CONTEXT TOKENS SEED");
    layers = atoi(argv[1]), d = atoi(argv[2]), context = atoi(argv[3]), tokens = atoi(argv[4]);
    if (layers < 1 || d < HEAD || d % HEAD || context < 0 || tokens < 1)
        fail("LAYERS and TOKENS are 1 or more, DIMENSION is a multiple of 64");
    /* LLaMA's: two thirds of four times the dimension, up to a multiple of 32. */
    hidden = (8 * d / 3 + 31) / 32 * 32;
    all = calloc((size_t)layers, sizeof *all);
    state = calloc(3 * (size_t)d + (size_t)hidden, sizeof *state);
    q = state + d, mixed = q + d, gate = mixed + d;
    fill(strtoull(argv[5], NULL, 10) + 1);
    for (int i = 0; i < d; i++)
        state[i] = (float)(int32_t)bits_of((uint64_t)i) * 0x1p-31f;
    float *before = calloc((size_t)d, sizeof *before);
    struct timespec began, ended;
#pragma omp parallel
    {
        for (int token = 0; token <= tokens; token++) {
#pragma omp single
            {
                if (token == 1) {
                    CXLAB_REGION_BEGIN;
                    clock_gettime(CLOCK_MONOTONIC, &began);
                }
                memcpy(before, state, (size_t)d * sizeof *before);
            }
            decode(context + token);
        }
#pragma omp master
        {
            clock_gettime(CLOCK_MONOTONIC, &ended);
            CXLAB_REGION_END;
        }
    }
    double error = error_of(before, context + tokens);
    if (!(error < 1e-3)) {
        fprintf(stderr, "decode: one thread in double precision differs by %g\n", error);
        return 1;
    }
    double seconds = (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) * 1e-9;
    double weights = (double)layers * (4.0 * d * d + 3.0 * d * hidden);
    double cache = (double)layers * 2 * d * sizeof(float) * (context + 1 + (tokens + 1) / 2.0);
    printf("measure tokens_per_second %.9g\n", tokens / seconds);
    printf("measure read %.9g\n", tokens * (weights + cache) / seconds / 1e9);
    printf("measure error %.9g\n", error);
    return 0;
}
