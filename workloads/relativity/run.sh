# Threads stay on their processors and sleep at barriers.
export OMP_NUM_THREADS="$threads" OMP_PROC_BIND=true OMP_WAIT_POLICY=passive
exec "$WORKLOAD_BUILD/program" "$n" "$warm" "$steps"
