. "$WORKLOAD_FOLDER/../tiering/first_node.sh"
# A JVM looks its host up by name.
echo localhost > /proc/sys/kernel/hostname
export PYTHONPATH="$PYTHONPATH:$WORKLOAD_FOLDER/../duckdb-tpch"
exec "$WORKLOAD_PYTHON" -u "$WORKLOAD_FOLDER/spark.py" "$scale" "$queries" "$heap" "$partitions" "$passes" "$seed"
