# memcached with one thread on one processor, the client on the other.
taskset -c 0 memcached -p 7777 -t 1 -m 1024 -u "$(id -un)" >&2 &
server=$!
taskset -c 1 "$WORKLOAD_BUILD/program" memcached 7777 "$workload" "$distribution" "$records" "$warm" "$requests" \
    "$connections" "$rate" "$seed" 0
status=$?
kill -9 "$server"
exit "$status"
