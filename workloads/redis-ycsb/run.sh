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
# Pages of Redis' own memory on each node, as N0=12 N1=34.
awk '/ anon=/ { for (word = 1; word <= NF; word++) if (split($word, pair, "=") == 2 && pair[1] ~ /^N[0-9]+$/) {
        all += pair[2]; away += pair[1] == "N0" ? 0 : pair[2] } }
    END { print "measure away", 100 * away / all }' "/proc/$server/numa_maps"
kill -9 "$server"
exit "$status"
