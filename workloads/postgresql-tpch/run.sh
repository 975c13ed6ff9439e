export PYTHONPATH="$PYTHONPATH:$WORKLOAD_FOLDER/../duckdb-tpch"
exec "$WORKLOAD_PYTHON" -u "$WORKLOAD_FOLDER/streams.py" \
    "$scale" "$queries" "$streams" "$processors" "$memory" "$work" "$seed"
