. "$WORKLOAD_FOLDER/../memo_client/memo.sh"
memo memo --instruction ld,nt-ld,st,st-wb,nt-st --size "${size_mib}MiB" --warm-up 10 --repeats "$batches"
