exec "$WORKLOAD_BUILD/program" "$rows" "$queries" "$per_query" "$threads" "$warm" "$skew" "$exponential" "$fill" "$seed" ${beside:+"$beside"}
