# The store on one processor, the client on the other; data.py has put the records on the drive.
law=$distribution:$law_items
taskset -c 0 "$WORKLOAD_BUILD/program" serve 7777 "$WORKLOAD_DISK/flash" "$workload" "$law" "$records" \
    "$spilled" "$flash" "$seed" &
server=$!
taskset -c 1 "$WORKLOAD_BUILD/program" redis 7777 "$workload" "$law" "$records" "$warm" "$requests" \
    "$connections" "$rate" "$seed" 0
status=$?
# It prints how many lookups have missed.
kill "$server"
wait "$server" || status=$?
exit "$status"
