# Measure the same host with another CXL device behind it.
cxlab bench latency --machine 8468v-fpga --node cxl --json shipped.json
cxlab bench latency --machine 8468v-fpga --node cxl --set nodes.cxl.device=dmsim-asic --json asic.json
