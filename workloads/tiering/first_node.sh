# Sourced before a program starts that runs under --tiering: $hot_ms and $taken_mib are parameters of its workload.toml.
if [ "$hot_ms" -gt 0 ]; then
    echo "$hot_ms" > /sys/kernel/debug/sched/numa_balancing/hot_threshold_ms || exit 1
fi
# Huge pages that nobody uses take memory of the first node.
if [ "$taken_mib" -gt 0 ]; then
    huge=/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages
    echo $((taken_mib / 2)) > "$huge"
    [ "$(cat "$huge")" -eq $((taken_mib / 2)) ] || { echo "the first node has no $taken_mib MiB to take" >&2; exit 1; }
fi
