/* `program begin` and `program end`: detail begins and ends here, where fio runs a command before and after its job. */
#include "cxlab/marker.h"

#include <string.h>

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "begin") == 0)
        CXLAB_REGION_BEGIN;
    else if (argc == 2 && strcmp(argv[1], "end") == 0)
        CXLAB_REGION_END;
    else
        return 2;
    return 0;
}
