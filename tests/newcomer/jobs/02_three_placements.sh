# Run your own program once, and time it on three placements.
cxlab run --membind dram --record program.trace --out all-dram -- ./program
cxlab replay program.trace --membind cxl
cxlab replay program.trace --interleave dram,cxl
