/* Detail begins and ends here; the program in Python calls these two. */
#include "cxlab/marker.h"

void begin(void) { CXLAB_REGION_BEGIN; }

void end(void) { CXLAB_REGION_END; }
