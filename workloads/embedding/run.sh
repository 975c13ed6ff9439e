exec "$WORKLOAD_BUILD/program" "$rows" "$queries" "$per_query" "$threads" "$warm" "$skew" "$seed"
