# Describe a machine of your own, and measure it.
cxlab bench latency --machine mine.toml --node cxl
