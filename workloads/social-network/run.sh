# Clients, front end, logic and stores on a processor each. Only the stores follow the placement.
client="$WORKLOAD_BUILD/program"
case "$mix" in
compose) shares="100 0 0" ;;
user) shares="0 100 0" ;;
home) shares="0 0 100" ;;
mixed) shares="10 30 60" ;;
esac
work=$(mktemp -d) || exit 1
cd "$work" || exit 1
taskset -c 3 redis-server --port 7001 --dir "$WORKLOAD_DATA" --save "" --appendonly no >&2 &
stores=$!
taskset -c 3 memcached -u root -l 127.0.0.1 -p 7002 -t 1 -m 1024 &
stores="$stores $!"
PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 taskset -c 2 "$client" local "$WORKLOAD_PYTHON" "$WORKLOAD_FOLDER/logic.py" \
    7003 7001 7002 "$WORKLOAD_DATA/memcached.txt" > logic.out &
others=$!
until [ -s logic.out ]; do
    kill -0 "$others" || exit 1
    sleep 0.05
done
taskset -c 1 "$client" local nginx -p "$work" -c "$WORKLOAD_FOLDER/nginx.conf" >&2 &
others="$others $!"
# shellcheck disable=SC2086  # three shares, and two processes
taskset -c 0 "$client" 7004 $shares "$users" "$warm" "$requests" "$connections" "$rate" "$seed"
status=$?
for store in $stores; do
    awk '/^VmRSS:/ { kib = $2 } END { print kib }' "/proc/$store/status"
done | awk '{ kib += $1 } END { print "measure stores", kib / 1024 }'
kill -9 $stores $others
exit "$status"
