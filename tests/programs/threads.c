/* Four threads add to one counter under a lock, and one child process does its own share. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void *add(void *times) {
    for (long i = 0; i < (long)times; i++) {
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, add, (void *)50000L);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    const pid_t child = fork();
    if (child == 0) {
        add((void *)1000L);
        _exit(counter == 201000 ? 7 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    printf("%ld %d\n", counter, WEXITSTATUS(status));
    return 0;
}
