/* Detail begins and ends here; the program in Python calls these two. */
#include "../marker.h"

void begin(void) { REGION_BEGIN; }

void end(void) { REGION_END; }
