# Sweep two devices over placements and seeds, then ask the results by SQL.
cxlab sweep devices.toml --out devices
cxlab query --format csv "SELECT machine, placement, count(*) AS runs, avg(latency_ns) AS ns FROM runs GROUP BY ALL" devices
