/* Reads lines of /dev/daxX.Y: poisoned [+|=] DEVICE OFFSET... (+: with a handler; =: writes the whole line first) A line that is poisoned ends
 * in SIGBUS, whose details are printed.
 * For each offset: "ok", or code and how far into the mapping the address is. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { MAPPED = 64 << 20, LINE = 64 };
static int writes;
static volatile char *area;
static sigjmp_buf back;

static void on_sigbus(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    const char *code = info->si_code == BUS_MCEERR_AR ? "BUS_MCEERR_AR" : "another code";
    printf("%s %zu\n", code, (size_t)((char *)info->si_addr - (char *)area));
    siglongjmp(back, 1);
}

static void read_at(size_t offset) {
    if (sigsetjmp(back, 1)) return;
    if (writes)
        for (size_t i = 0; i < LINE; i++) area[offset / LINE * LINE + i] = 1;
    const char read = area[offset];
    /* The machine check may come an instruction later. */
    __asm__ volatile("nop; nop; nop; nop" ::"r"(read) : "memory");
    printf("ok\n");
    fflush(stdout);
}

int main(int argc, char **argv) {
    const struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER};
    const int handled = argv[1][0] == '+';
    writes = argv[1][0] == '=';
    if (handled) sigaction(SIGBUS, &action, NULL);
    area = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[1 + (handled || writes)], O_RDWR), 0);
    if (area == MAP_FAILED) perror("mmap"), exit(1);
    for (int i = 2 + (handled || writes); i < argc; i++) read_at(strtoull(argv[i], 0, 0));
    return 0;
}
