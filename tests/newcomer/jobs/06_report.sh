# Keep a run, and read it as one page in a browser.
cxlab run --membind cxl --out slow -- sha256sum /bin/ls
cxlab report slow -o report.html
