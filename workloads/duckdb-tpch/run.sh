exec "$WORKLOAD_PYTHON" -u "$WORKLOAD_FOLDER/queries.py" "$scale" "$queries" "$threads" "$seed"
