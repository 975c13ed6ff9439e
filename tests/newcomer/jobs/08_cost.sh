# Ask what CXL memory does to the bill of one application.
cxlab plan cost --r-d 10 --r-c 8 --c 2 --r-t 1.1
