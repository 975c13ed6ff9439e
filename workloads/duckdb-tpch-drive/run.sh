export LD_PRELOAD="$WORKLOAD_BUILD/program" PYTHONPATH="$PYTHONPATH:$WORKLOAD_FOLDER/../duckdb-tpch"
exec "$WORKLOAD_PYTHON" -u "$WORKLOAD_FOLDER/stream.py" "$scale" "$queries" "$memory" "$seed"
