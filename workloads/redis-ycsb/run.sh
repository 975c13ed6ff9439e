# Redis on one processor, the client on the other; the records come from the dump of data.py.
taskset -c 0 redis-server --port 7777 --dir "$WORKLOAD_DATA" --save "" --appendonly no >&2 &
server=$!
taskset -c 1 "$WORKLOAD_BUILD/program" redis 7777 "$workload" "$distribution" "$records" "$warm" "$requests" \
    "$connections" "$rate" "$seed" "$settled"
status=$?
# With --swap: how much of the server Linux has put out.
awk '/^(VmRSS|VmSwap):/ { kib[$1] = $2 } END {
    print "measure spilled", 100 * kib["VmSwap:"] / (kib["VmRSS:"] + kib["VmSwap:"]) }' "/proc/$server/status"
kill -9 "$server"
exit "$status"
