# Ask how much slower your own program is on CXL memory, and why.
cxlab compare --membind dram --membind cxl --json why.json -- ./program
