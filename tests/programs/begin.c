/* Detail begins here: run between a program's set-up and what is to be timed, under cxlab run --detail marker. */
#include "cxlab/marker.h"

int main(void) {
    CXLAB_REGION_BEGIN;
    return 0;
}
