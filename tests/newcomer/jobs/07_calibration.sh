# Fit a machine to the output of your own Intel MLC.
cxlab calibrate --measured mlc.txt --threads 1 --node cxl --start start.toml --out mine.toml --free dmsim-asic.root_port.bridge_latency
cxlab bench latency --machine mine.toml --node cxl
