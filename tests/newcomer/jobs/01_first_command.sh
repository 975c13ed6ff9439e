# Run a program of this host with all its pages on CXL memory.
cxlab run --membind cxl -- sha256sum /bin/ls
