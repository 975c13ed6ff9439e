. "$WORKLOAD_FOLDER/../tiering/first_node.sh"
export LD_PRELOAD="$WORKLOAD_BUILD/program" PYTHONPATH="$PYTHONPATH:$WORKLOAD_FOLDER/../duckdb-tpch"
exec "$WORKLOAD_PYTHON" -u "$WORKLOAD_FOLDER/spilled.py" "$scale" "$queries" "$spilled" "$seed"
