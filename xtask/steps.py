"""What `cargo xtask bench steps` measures: built-in steps and rules on five million orders, into a Delta table, by `wasmhost` in its
sandbox, by Polars and by DuckDB natively (both with Python `deltalake` as the writer). What they leave is compared row by row.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

# A row in twenty comes twice, its later version somewhere else in the file.
ROWS = """
SELECT i AS order_id,
       (i * 2654435761) % 400009 AS customer_id,
       to_timestamp(1735689600 + (i * 7919) % 86400 + v * 86400) AS updated_at,
       ['open', 'paid', 'packed', 'shipped', 'returned'][((i * 31 + v) % 5 + 1)::INTEGER] AS status,
       ['AT', 'BE', 'CH', 'CZ', 'DE', 'DK', 'ES', 'FI', 'FR'][((i * 13) % 9 + 1)::INTEGER] AS country,
       (1 + (i * 17 + v) % 9) AS quantity,
       ((i * 104729) % 99991) / 100.0::DOUBLE AS unit_price,
       CASE WHEN (i * 7) % 3 = 0 THEN ((i + v) % 40) / 100.0::DOUBLE END AS discount,
       CASE WHEN (i * 11) % 4 > 0 THEN 'ref ' || substr(md5((i * 3)::VARCHAR), 1, 20) END AS note
FROM (SELECT i, 0 AS v FROM range({n}) t(i) UNION ALL SELECT i, 1 AS v FROM range(0, {n}, 20) t(i)) ORDER BY (i * 7919 + v * 31337) % {n}
"""

FILTER = "quantity > 1 AND country <> 'FR'"
AMOUNT = "quantity * unit_price * (1 - coalesce(discount, 0))"
PLACE = "upper(country) || '-' || status"
ACCEPTED = ["open", "paid", "packed", "shipped", "returned"]

FLOW = """
name: steps
source: {{ format: parquet, path: {orders} }}
transforms:
  - {{ type: filter, expression: "{filter}" }}
  - {{ type: with_column, column: amount, expression: "{amount}" }}
  - {{ type: with_column, column: place, expression: "{place}" }}
  - {{ type: deduplicate, keys: [order_id], order_by: "updated_at DESC NULLS LAST" }}
rules:
  - {{ type: not_null, columns: [order_id, updated_at] }}
  - {{ type: unique_key, columns: [order_id] }}
  - {{ type: accepted_values, column: status, values: [{accepted}] }}
  - {{ type: range, column: amount, min: 0, max: 10000 }}
destination: {{ name: t, format: delta, path: {table}, load_type: append }}
"""

GROUP_FLOW = """
name: group
source: {{ format: parquet, path: {orders} }}
transforms:
  - {{ type: filter, expression: "{filter}" }}
  - {{ type: with_column, column: amount, expression: "{amount}" }}
  - {{ type: group_by, by: [country, status], agg: ["count(*) AS orders", "sum(amount) AS amount", "max(unit_price) AS dearest"] }}
destination: {{ name: t, format: delta, path: {table}, load_type: append }}
"""


def polars_steps(orders, table):
    import polars as pl
    from deltalake import write_deltalake

    rows = (
        pl.scan_parquet(orders)
        .filter((pl.col("quantity") > 1) & (pl.col("country") != "FR"))
        .with_columns(
            amount=pl.col("quantity") * pl.col("unit_price") * (1 - pl.col("discount").fill_null(0)),
            place=pl.col("country").str.to_uppercase() + "-" + pl.col("status"),
        )
        .sort("updated_at", descending=True, nulls_last=True)
        .unique("order_id", keep="first")
        .collect()
    )
    assert rows["order_id"].null_count() + rows["updated_at"].null_count() == 0
    assert rows["order_id"].n_unique() == len(rows)
    assert rows["status"].is_in(ACCEPTED).all()
    assert rows["amount"].is_between(0, 10000).all()
    write_deltalake(table, rows, mode="append")


def polars_group(orders, table):
    import polars as pl
    from deltalake import write_deltalake

    rows = (
        pl.scan_parquet(orders)
        .filter((pl.col("quantity") > 1) & (pl.col("country") != "FR"))
        .with_columns(amount=pl.col("quantity") * pl.col("unit_price") * (1 - pl.col("discount").fill_null(0)))
        .group_by("country", "status")
        .agg(orders=pl.len().cast(pl.Int64), amount=pl.col("amount").sum(), dearest=pl.col("unit_price").max())
        .collect()
    )
    write_deltalake(table, rows, mode="append")


def duckdb_steps(orders, table):
    import duckdb
    from deltalake import write_deltalake

    db = duckdb.connect()
    db.execute(
        f"""CREATE TEMP TABLE r AS SELECT * FROM (
            SELECT *, {AMOUNT} AS amount, {PLACE} AS place FROM '{orders}' WHERE {FILTER}
        ) QUALIFY row_number() OVER (PARTITION BY order_id ORDER BY updated_at DESC NULLS LAST) = 1"""
    )
    accepted = ", ".join(f"'{value}'" for value in ACCEPTED)
    bad = db.execute(
        f"""SELECT count(*) FILTER (order_id IS NULL OR updated_at IS NULL), count(*) - count(DISTINCT order_id),
            count(*) FILTER (status NOT IN ({accepted})), count(*) FILTER (amount NOT BETWEEN 0 AND 10000) FROM r"""
    ).fetchall()[0]
    assert bad == (0, 0, 0, 0), bad
    write_deltalake(table, db.sql("SELECT * FROM r").to_arrow_reader(), mode="append")


def duckdb_group(orders, table):
    import duckdb
    from deltalake import write_deltalake

    rows = duckdb.sql(
        f"""SELECT country, status, count(*) AS orders, sum({AMOUNT}) AS amount, max(unit_price) AS dearest
            FROM '{orders}' WHERE {FILTER} GROUP BY ALL"""
    )
    write_deltalake(table, rows.to_arrow_reader(), mode="append")


SIDES = {
    "polars": {"steps": polars_steps, "group": polars_group},
    "duckdb": {"steps": duckdb_steps, "group": duckdb_group},
}


def make(count, path):
    import duckdb

    whole = path.with_suffix(".part")
    duckdb.connect().execute(f"COPY ({ROWS.format(n=count)}) TO '{whole}' (FORMAT parquet, COMPRESSION snappy)")
    whole.rename(path)


def timed(command, **more):
    """Seconds of wall and CPU, and the peak memory in MiB, of a child."""
    begin = time.monotonic()
    child = subprocess.Popen(command, **more)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{command} failed")
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measure(wasmhost, work, count, rounds):
    work.mkdir(parents=True, exist_ok=True)
    orders = work / f"orders-{count}.parquet"
    if not orders.exists():
        subprocess.run([sys.executable, __file__, "make", str(count), str(orders)], check=True)
    print(f"{count + count // 20:,} rows, {orders.stat().st_size / 1e6:.0f} MB of Parquet; medians of {rounds} rounds\n")
    print(f"{'':8}{'':10}{'wall s':>8}{'CPU s':>8}{'MiB':>7}")
    for name, flow in {"steps": FLOW, "group": GROUP_FLOW}.items():
        results = {side: [] for side in ["wasmhost", *SIDES]}
        tables = {side: work / f"{name}-{side}" for side in results}
        text = flow.format(
            orders=orders, table=tables["wasmhost"], filter=FILTER, amount=AMOUNT, place=PLACE, accepted=", ".join(ACCEPTED)
        )
        file = work / f"{name}.yaml"
        file.write_text(text)
        for _ in range(rounds):
            for side, table in tables.items():
                shutil.rmtree(table, ignore_errors=True)
                command = [sys.executable, __file__, "side", side, name, str(orders), str(table)]
                if side == "wasmhost":
                    command = [str(wasmhost), "run", str(file), "--quiet"]
                results[side].append(timed(command))
        subprocess.run([sys.executable, __file__, "compare", *map(str, tables.values())], check=True)
        for side, runs in results.items():
            wall, cpu, mib = (statistics.median(column) for column in zip(*runs))
            print(f"{name:8}{side:10}{wall:8.2f}{cpu:8.2f}{mib:7.0f}")
        runs = sorted((work / ".wasmhost/runs" / name).glob("*.json"), key=lambda path: path.stat().st_mtime)
        for part in json.loads(runs[-1].read_text())["components"]:
            usage = part["usage"]
            print(
                f"  {part['stage']} {part['component']}: {usage['busy_ms'] / 1000:.2f} s in {usage['calls']} calls, "
                f"{usage['bytes_in'] / 1e6:.0f} MB in, {usage['bytes_out'] / 1e6:.0f} MB out, {usage['instances']} instances"
            )


def compare(tables):
    """All tables hold the same rows."""
    import duckdb
    import polars as pl

    first, *others = tables
    db = duckdb.connect()
    for at, table in enumerate(tables):
        frame = pl.read_delta(table)
        db.register(f"raw{at}", frame.to_arrow())
        columns = ", ".join(f"round({c}, 4) AS {c}" if frame[c].dtype == pl.Float64 else c for c in sorted(frame.columns))
        db.execute(f"CREATE VIEW t{at} AS SELECT {columns} FROM raw{at}")
    for at in range(1, len(tables)):
        missing, extra = (
            db.execute(f"SELECT count(*) FROM (FROM {a} EXCEPT ALL FROM {b})").fetchone()[0]
            for a, b in [("t0", f"t{at}"), (f"t{at}", "t0")]
        )
        if missing or extra:
            sys.exit(f"{first} and {tables[at]} differ: {missing} rows and {extra}")


def main():
    match sys.argv[1:]:
        case ["make", count, path]:
            make(int(count), Path(path))
        case ["side", side, name, orders, table]:
            SIDES[side][name](orders, table)
        case ["compare", *tables]:
            compare(tables)
        case ["measure", wasmhost, work, *rest]:
            parser = argparse.ArgumentParser()
            parser.add_argument("--orders", type=int, default=5_000_000)
            parser.add_argument("--rounds", type=int, default=3)
            args = parser.parse_args(rest)
            measure(Path(wasmhost), Path(work), args.orders, args.rounds)


if __name__ == "__main__":
    main()
