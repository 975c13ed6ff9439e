exec "$WORKLOAD_PYTHON" -u "$WORKLOAD_FOLDER/decode.py" "$threads" "$tokens"
