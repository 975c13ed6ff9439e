. "$WORKLOAD_FOLDER/../memo_client/memo.sh"
memo loaded-latency --threads "$((processors - 1))" --mix "$mix" --store "$store" --delay "$delay" \
    --size "${size_mib}MiB" --warm-up "${warm_us}us" --window "${window_us}us" --repeats 3
