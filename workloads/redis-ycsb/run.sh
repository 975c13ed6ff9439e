# Redis on one processor, the client on the other; the records come from the dump of data.py.
. "$WORKLOAD_FOLDER/../tiering/first_node.sh"
taskset -c 0 redis-server --port 7777 --dir "$WORKLOAD_DATA" --save "" --appendonly no >&2 &
server=$!
taskset -c 1 "$WORKLOAD_BUILD/program" redis 7777 "$workload" "$distribution:$law_items" "$records" "$warm" "$requests" \
    "$connections" "$rate" "$seed" "$settled"
status=$?
# With --swap: how much of the server Linux has put out.
awk '/^(VmRSS|VmSwap):/ { kib[$1] = $2 } END {
    print "measure spilled", 100 * kib["VmSwap:"] / (kib["VmRSS:"] + kib["VmSwap:"]) }' "/proc/$server/status"
awk -f "$WORKLOAD_FOLDER/../tiering/away.awk" "/proc/$server/numa_maps"
kill -9 "$server"
exit "$status"
