/* Every clock and timer of the program against the time-stamp counter. A line a fact: name, value, unit. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double tsc(void) { return (double)__rdtsc() / 2.4e9; }

static void ring(int number) { (void)number; }

int main(void) {
    /* Busy: 32 M dependent additions. Each clock is read just before the counter: the distance cancels. */
    const clockid_t clocks[] = {CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC};
    double clock_took[2], took[2];
    for (int i = 0; i < 2; i++) {
        clock_took[i] = now(clocks[i]);
        took[i] = tsc();
    }
    uint64_t x = 0;
    for (long i = 0; i < 32000000; i++) __asm__ volatile("add $1, %0" : "+r"(x));
    for (int i = 0; i < 2; i++) {
        clock_took[i] = now(clocks[i]) - clock_took[i];
        took[i] = tsc() - took[i];
    }
    printf("busy %.9f s\n", took[1]);
    printf("raw %.3f ppm\n", (clock_took[0] / took[0] - 1) * 1e6);
    printf("monotonic %.3f ppm\n", (clock_took[1] / took[1] - 1) * 1e6);

    uint64_t before = 0, backwards = 0;
    for (int i = 0; i < 100000; i++) {
        const uint64_t read = __rdtsc();
        backwards += read < before;
        before = read;
    }
    printf("backwards %llu times\n", (unsigned long long)backwards);

    const int sleeps[] = {100, 1000, 10000, 100000};
    for (unsigned i = 0; i < sizeof sleeps / sizeof *sleeps; i++) {
        const double begin = tsc();
        usleep((useconds_t)sleeps[i]);
        printf("usleep_%d %.9f s\n", sleeps[i], tsc() - begin);
    }
    double begin = tsc();
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, 0);
    printf("nanosleep %.9f s\n", tsc() - begin);

    const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    const struct itimerspec every = {.it_interval = {.tv_nsec = 20000000}, .it_value = {.tv_nsec = 20000000}};
    begin = tsc();
    timerfd_settime(timer, 0, &every, 0);
    uint64_t expired, count = 0;
    while (count < 5 && read(timer, &expired, sizeof expired) > 0) count += expired;
    printf("timerfd %.9f s\n", tsc() - begin);

    signal(SIGALRM, ring);
    begin = tsc();
    alarm(1);
    pause();
    printf("alarm %.9f s\n", tsc() - begin);
    return 0;
}
