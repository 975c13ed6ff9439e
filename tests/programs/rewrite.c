/* Writes a function and runs it, again and again at the same place: each returns another number. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(void) {
    unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t sum = 0;
    for (uint32_t i = 1; i <= 1000; i++) {
        /* i NOPs at most 99, then mov eax, i; ret: each version has another length. */
        const uint32_t nops = i % 100;
        memset(code, 0x90, nops);
        code[nops] = 0xb8;
        memcpy(code + nops + 1, &i, sizeof i);
        code[nops + 5] = 0xc3;
        sum += ((uint32_t(*)(void))code)();
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
