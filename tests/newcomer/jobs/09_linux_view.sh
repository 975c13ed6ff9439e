# Look at the device as Linux's own driver sees it.
cxlab boot --cxl device --memory dram=512M,cxl=256M --script look.sh
