exec "$WORKLOAD_BUILD/program" "$examples" "$features" "$nonzero" "$noise" "$seed"
