/* A heap in CXL memory that the application manages: dax_heap DEVICE OFFSET BYTES
 *
 * Maps a range of /dev/daxX.Y (2 MiB pages) and lets mimalloc work in it and nowhere else, as one arena with a heap of its
 * own; ordinary malloc stays in DRAM. Builds a list there, in random order, and walks it. Several processes may use one
 * device, each its own range.
 *
 * Prints: nodes of the list, how many of them are outside of the range, faults of pages, ns a node of the walk.
 *
 *   gcc -O2 -o dax_heap examples/dax_heap.c -lmimalloc        (Debian: libmimalloc-dev, 2.0.9)
 *   cxlab run --cxl device --managed application -- ./dax_heap /dev/dax0.0 0 67108864
 */
#include <fcntl.h>
#include <mimalloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { NODES = 1 << 17, WALKED = 5000 };

struct node {
    struct node *next;
    char payload[120];
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* The range of the device, at a multiple of mimalloc's segments (32 MiB in 2.0). */
static char *map(int device, off_t offset, size_t bytes) {
    const uintptr_t segment = 32 << 20;
    char *room = mmap(NULL, bytes + segment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) fail("mmap");
    char *aligned = room + -(uintptr_t)room % segment;
    char *area = mmap(aligned, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, device, offset);
    if (area == MAP_FAILED) fail("mmap");
    return area;
}

/* A heap in the `bytes` at `area`, and in nothing else. mimalloc 2.0 crashes in memory that others have left full. */
static mi_heap_t *heap_in(void *area, size_t bytes) {
    const bool committed = true, large = true, zero = true, exclusive = true;
    mi_arena_id_t arena;
    memset(area, 0, bytes);
    if (!mi_manage_os_memory_ex(area, bytes, committed, large, zero, -1, exclusive, &arena)) {
        fprintf(stderr, "mimalloc does not take the range\n");
        exit(1);
    }
    return mi_heap_new_in_arena(arena);
}

/* A list through all nodes in random order (Sattolo's algorithm gives one cycle). */
static struct node *link_nodes(struct node **nodes) {
    for (size_t i = NODES - 1; i > 0; i--) {
        const size_t other = (size_t)rand() % i;
        struct node *held = nodes[i];
        nodes[i] = nodes[other];
        nodes[other] = held;
    }
    for (size_t i = 0; i < NODES; i++) nodes[i]->next = nodes[(i + 1) % NODES];
    return nodes[0];
}

static double walk(struct node *at) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < WALKED; i++) at = at->next;
    __asm__ volatile("" ::"r"(at) : "memory");
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / WALKED;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: dax_heap DEVICE OFFSET BYTES\n");
        return 2;
    }
    const off_t offset = strtoll(argv[2], NULL, 0);
    const size_t bytes = strtoull(argv[3], NULL, 0);
    const int device = open(argv[1], O_RDWR);
    if (device < 0) fail(argv[1]);
    char *area = map(device, offset, bytes);
    static struct node *nodes[NODES];
    memset(nodes, 1, sizeof nodes);
    const long before = faults();
    mi_heap_t *heap = heap_in(area, bytes);
    long outside = 0;
    for (int i = 0; i < NODES; i++) {
        nodes[i] = mi_heap_malloc(heap, sizeof(struct node));
        if (nodes[i] == NULL) fail("mimalloc");
        outside += (char *)nodes[i] < area || (char *)nodes[i] >= area + bytes;
        nodes[i]->payload[0] = (char)i;
    }
    const long faulted = faults() - before;
    /* The markers of the region of detail (crates/access/src/marker.rs): the walk alone is timed by the model. */
    struct node *first = link_nodes(nodes);
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 1, 0x00, 0xc5, 0x1a" ::: "memory");
    const double ns = walk(first);
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 2, 0x00, 0xc5, 0x1a" ::: "memory");
    printf("%d %ld %ld %.2f\n", NODES, outside, faulted, ns);
    return 0;
}
