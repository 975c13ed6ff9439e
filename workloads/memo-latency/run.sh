. "$WORKLOAD_FOLDER/../memo_client/memo.sh"
memo latency --size "${size_mib}MiB" --pages "$pages" --hops 512 --samples "$samples"
