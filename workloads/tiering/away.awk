# Share of a program's own pages on other nodes than the first, of its /proc/PID/numa_maps: N0=12 N1=34.
/ anon=/ { for (word = 1; word <= NF; word++) if (split($word, pair, "=") == 2 && pair[1] ~ /^N[0-9]+$/) {
        all += pair[2]; away += pair[1] == "N0" ? 0 : pair[2] } }
END { print "measure away", 100 * away / all }
