/* Detail begins here: run between a program's set-up and what is to be timed, under cxlab run --detail marker. */
#include "marker.h"

int main(void) {
    REGION_BEGIN;
    return 0;
}
