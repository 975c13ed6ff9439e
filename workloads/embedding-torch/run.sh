# Not torch.set_num_threads: it makes a second pool too, whose threads spin for milliseconds on the first one's processor.
export OMP_NUM_THREADS="$threads" OMP_PROC_BIND=true OMP_WAIT_POLICY=passive
# torch is Debian's, so its Python is.
exec /usr/bin/python3 "$WORKLOAD_FOLDER/bag.py" "$rows" "$queries" "$per_query" "$warm" "$skew" "$seed"
