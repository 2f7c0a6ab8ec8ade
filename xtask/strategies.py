"""What `cargo xtask bench strategies` measures: each load strategy by `wasmhost`, and by Python `deltalake` with polars.

`measure WASMHOST WORK` does everything; the other commands are what it starts, so that it stays small: the peak memory of a child
counts from its parent's at the fork. Both sides read the same Parquet file and start from a copy of the same table. What they leave
is compared, row by row, with what DuckDB computes from the inputs.
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

KEY = "order_id"
COLUMNS = {
    # Name, and its SQL; `i` is the order's number, `v` 0 or 1: its version.
    "order_id": "i",
    "customer_id": "(i * 2654435761) % 400009",
    "product_id": "((i * 40503) % 20011)::INTEGER",
    "order_date": "DATE '2023-01-01' + (i // 7000)::INTEGER",
    "updated_at": "to_timestamp(1735689600 + (i * 7919) % 86400 + v * 86400)",
    "status": "['open', 'paid', 'packed', 'shipped', 'returned'][((i * 31 + v) % 5 + 1)::INTEGER]",
    "country": "['AT', 'BE', 'CH', 'CZ', 'DE', 'DK', 'ES', 'FI', 'FR', 'GB', 'IE', 'IT', 'NL', 'NO', 'PL', 'PT', 'SE'][((i * 13) % 17 + 1)::INTEGER]",
    "quantity": "(1 + (i * 17 + v) % 9)::INTEGER",
    "unit_price": "(((i * 104729) % 99991) / 100)::DECIMAL(9, 2)",
    "discount": "CASE WHEN (i * 7) % 3 = 0 THEN ((i + v) % 40) / 100.0::DOUBLE END",
    "total": "((1 + (i * 17 + v) % 9) * ((i * 104729) % 99991) / 100)::DECIMAL(12, 2)",
    "note": "CASE WHEN (i * 11) % 4 > 0 THEN 'ref ' || substr(md5((i * 3)::VARCHAR), 1, 20) END",
}

# A permutation of 0..999 within each thousand of orders, so that what changes is spread evenly over the table.
BUCKET = "(i * 2654435761) % 1000"
BY_TIME = " ORDER BY updated_at, order_id"

# Each: what it does; the table that it starts from; the orders that come, as (i, v); their order; the flow's settings.
# `{n}` is the number of orders in the table.
SCENARIOS = {
    "append": {
        "what": "10 % new orders",
        "base": "plain",
        "rows": "SELECT i, 0 AS v FROM range({n}, {n} + {n} // 10) t(i)",
        "load": "load_type: append",
    },
    "overwrite": {
        "what": "all orders",
        "base": "plain",
        "rows": "SELECT i, 1 AS v FROM range({n}) t(i)",
        "load": "load_type: overwrite",
    },
    "merge_upsert": {
        "what": "10 % changed, 2 % new",
        "base": "plain",
        "rows": f"SELECT i, 1 AS v FROM range({{n}}) t(i) WHERE {BUCKET} < 100 UNION ALL SELECT i, 1 FROM range({{n}}, {{n}} + {{n}} // 50) t(i)",
        "order": BY_TIME,
        "load": "load_type: merge_upsert, merge_keys: [order_id]",
    },
    "hash_diff_upsert": {
        "what": "12 % come, 1 % differ",
        "base": "plain",
        "rows": f"SELECT i, ({BUCKET} < 10)::INTEGER AS v FROM range({{n}}) t(i) WHERE {BUCKET} < 120",
        "order": BY_TIME,
        "load": "load_type: hash_diff_upsert, merge_keys: [order_id]",
    },
    "scd2": {
        "what": "10 % changed",
        "base": "versions",
        "rows": f"SELECT i, 1 AS v FROM range({{n}}) t(i) WHERE {BUCKET} < 100",
        "order": BY_TIME,
        "load": "load_type: scd2, merge_keys: [order_id], effective_column: updated_at",
    },
    "snapshot_soft_delete": {
        "what": "all orders: 0.1 % changed, 0.1 % new, 0.02 % missing",
        "base": "marked",
        "rows": "SELECT i, (i % 1000 = 7)::INTEGER AS v FROM range({n}) t(i) WHERE i % 5000 != 11 UNION ALL SELECT i, 0 FROM range({n}, {n} + {n} // 1000) t(i)",
        "load": "load_type: snapshot_soft_delete, merge_keys: [order_id]",
        "source": ", source_complete: true",
    },
}

# The columns of each table beside the orders', as SQL over them.
BASES = {
    "plain": {},
    "versions": {"__valid_from": "updated_at", "__valid_to": "NULL::TIMESTAMPTZ", "__is_current": "true"},
    "marked": {"__is_deleted": "false", "__deleted_at": "NULL::TIMESTAMPTZ"},
}
BASE_FILES = 10

# What the rows of a table are compared by. When a row was marked is each run's own.
COMPARED = {
    "plain": [*COLUMNS],
    "versions": [*COLUMNS, "__valid_from", "__valid_to", "__is_current"],
    "marked": [*COLUMNS, "__is_deleted", "__deleted_at IS NULL"],
}

MEMORY_BYTES = 512 << 20


# ---- the data


def select(scenario: dict, orders: int) -> str:
    columns = ", ".join(f"{sql} AS {name}" for name, sql in COLUMNS.items())
    return f"SELECT {columns} FROM ({scenario['rows'].format(n=orders)})" + scenario.get("order", "")


def make(orders: int, cache: Path) -> None:
    """Inputs and tables that are not there yet."""
    import duckdb
    import polars
    from deltalake import write_deltalake

    db = duckdb.connect(config={"memory_limit": "4GB"})
    plain = {"rows": "SELECT i, 0 AS v FROM range({n}) t(i)"}
    for name, scenario in {"orders": plain, **SCENARIOS}.items():
        path = cache / f"{name}.parquet"
        if not path.exists():
            whole = path.with_suffix(".part")
            db.execute(f"COPY ({select(scenario, orders)}) TO '{whole}' (FORMAT parquet, COMPRESSION snappy)")
            whole.rename(path)
    for name, more in BASES.items():
        path, whole = cache / name, cache / f"{name}.part"
        if path.exists():
            continue
        shutil.rmtree(whole, ignore_errors=True)
        own = "".join(f", {sql} AS {column}" for column, sql in more.items())
        step = -(-orders // BASE_FILES)
        for first in range(0, orders, step):
            part = cache / "part.parquet"
            here = f"WHERE order_id >= {first} AND order_id < {first + step}"
            db.execute(f"COPY (SELECT *{own} FROM '{cache}/orders.parquet' {here}) TO '{part}' (FORMAT parquet)")
            write_deltalake(whole, polars.read_parquet(part), mode="append", target_file_size=1 << 30)
            part.unlink()
        whole.rename(path)


# ---- the Python side


def python_side(name: str, source: Path, table: Path) -> None:
    """The scenario as somebody would write it by hand."""
    import polars as pl
    from deltalake import DeltaTable, write_deltalake

    rows = pl.read_parquet(source)
    taken = {column: f"s.{column}" for column in COLUMNS}

    def merge(rows: pl.DataFrame, predicate: str = "s.order_id = t.order_id"):
        return DeltaTable(table).merge(rows, predicate, source_alias="s", target_alias="t")

    match name:
        case "append" | "overwrite":
            write_deltalake(table, rows, mode=name)
        case "merge_upsert":
            merge(rows).when_matched_update_all().when_not_matched_insert_all().execute()
        case "hash_diff_upsert":
            # Not by a predicate of the update: at a tenth of the rows, the merge took 4.3 s with one, and this 1.7 s.
            stored = pl.scan_delta(str(table))
            changed = rows.lazy().join(stored, on=list(COLUMNS), how="anti", nulls_equal=True).collect()
            merge(changed).when_matched_update_all().when_not_matched_insert_all().execute()
        case "scd2":
            # A row that changes comes twice: without a key, to be inserted, and where a version is current, with one, to close it.
            stored = pl.scan_delta(str(table)).filter(pl.col("__is_current")).select(list(COLUMNS))
            changed = rows.lazy().join(stored, on=list(COLUMNS), how="anti", nulls_equal=True)
            closing = changed.join(stored.select(KEY), on=KEY, how="semi").with_columns(by_key=pl.col(KEY))
            opening = changed.with_columns(by_key=pl.lit(None, dtype=pl.Int64))
            staged = pl.concat([closing, opening]).collect()
            versions = {"__valid_from": "s.updated_at", "__valid_to": "NULL", "__is_current": "true"}
            (
                merge(staged, "s.by_key = t.order_id AND t.__is_current")
                .when_matched_update({"__valid_to": "s.updated_at", "__is_current": "false"})
                .when_not_matched_insert({**taken, **versions})
                .execute()
            )
        case "snapshot_soft_delete":
            # Equal rows are updated too: with a predicate that leaves them alone, a tenth of the rows took 3 GB of memory and 28 s.
            unmarked = {"__is_deleted": "false", "__deleted_at": "NULL"}
            (
                merge(rows)
                .when_matched_update({**taken, **unmarked})
                .when_not_matched_insert({**taken, **unmarked})
                .when_not_matched_by_source_update(
                    {"__is_deleted": "true", "__deleted_at": "now()"}, predicate="NOT t.__is_deleted"
                )
                .execute()
            )


# ---- what was left


def truth(name: str, cache: Path) -> str:
    """The rows that the scenario has to leave, as SQL."""
    base, come = f"(SELECT * FROM '{cache}/orders.parquet')", f"(SELECT * FROM '{cache}/{name}.parquet')"
    untouched = f"{base} ANTI JOIN {come} USING (order_id)"
    match name:
        case "append":
            return f"FROM {base} UNION ALL FROM {come}"
        case "overwrite":
            return f"FROM {come}"
        case "merge_upsert" | "hash_diff_upsert":
            return f"FROM {untouched} UNION ALL FROM {come}"
        case "snapshot_soft_delete":
            return (
                f"SELECT *, false AS __is_deleted, NULL::TIMESTAMPTZ AS __deleted_at FROM {come}"
                f" UNION ALL SELECT *, true, now() FROM {untouched}"
            )
        case "scd2":
            current = "updated_at AS __valid_from, NULL::TIMESTAMPTZ AS __valid_to, true AS __is_current"
            closed = "b.updated_at, c.updated_at, false"
            return (
                f"SELECT *, {current} FROM {untouched} UNION ALL SELECT *, {current} FROM {come}"
                f" UNION ALL SELECT b.*, {closed} FROM {base} b JOIN {come} c USING (order_id)"
            )


def check(name: str, cache: Path, table: Path | None) -> None:
    """Prints how many rows there are, and a sum over all their values, whatever their order."""
    import duckdb

    db = duckdb.connect(config={"memory_limit": "6GB", "temp_directory": str(cache / "duckdb")})
    if table is None:
        rows = truth(name, cache)
    else:
        from deltalake import DeltaTable

        rows = f"FROM read_parquet({DeltaTable(table).file_uris()}, hive_partitioning = false)"
    columns = ", ".join(COMPARED[SCENARIOS[name]["base"]])
    count, total = db.execute(f"SELECT count(*), sum(hash({columns})::HUGEINT) FROM ({rows})").fetchone()
    print(f"{count} {total}")


# ---- the measuring


def measured(command: list, log: Path) -> tuple[int, dict]:
    """Runs a command to its end."""
    began = time.perf_counter()
    with open(log, "wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    # Kilobytes on Linux, bytes on macOS.
    rss = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return child.returncode, {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "rss": rss}


def data_files(table: Path) -> dict:
    return {path: path.stat().st_size for path in table.rglob("*.parquet") if "_delta_log" not in path.parts}


def asked(*arguments) -> str:
    """What another command of this file prints."""
    return subprocess.run(
        [sys.executable, __file__, *map(str, arguments)], check=True, text=True, stdout=subprocess.PIPE
    ).stdout.strip()


def flow(scenario: dict, source: Path) -> str:
    return f"""\
name: bench
limits: {{ load_memory_bytes: {MEMORY_BYTES} }}
source: {{ format: parquet, path: {source}{scenario.get("source", "")} }}
destination: {{ format: delta, path: table, {scenario["load"]} }}
state: state
"""


class Wrong(Exception):
    """A run that failed, or left other rows than it should."""


def one_run(side: str, name: str, wasmhost: Path, cache: Path, work: Path) -> dict | None:
    """One run from a fresh copy of the table; `None` where the flow is refused as not offered."""
    scenario, source = SCENARIOS[name], cache / f"{name}.parquet"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    table, log = work / "table", work / "log"
    shutil.copytree(cache / scenario["base"], table)
    before = data_files(table)
    (work / "flow.yaml").write_text(flow(scenario, source))
    # The copy is on the disk and in memory, and the input in memory, before the clock starts.
    os.sync()
    with open(source, "rb") as file:
        while file.read(1 << 20):
            pass
    if side == "wasmhost":
        command = [wasmhost, "run", work / "flow.yaml"]
    else:
        command = [sys.executable, __file__, "side", name, source, table]
    code, result = measured(command, log)
    said = log.read_text(errors="replace")
    if side == "wasmhost" and code == 2 and "[not-offered]" in said:
        return None
    if code != 0:
        raise Wrong(f"{side}, {name}: exit code {code}\n{said}")
    result["written"] = sum(size for path, size in data_files(table).items() if path not in before)
    left = asked("check", name, cache, table)
    if left != (expected := asked_truth(name, cache)):
        raise Wrong(f"{side}, {name}: rows and sum are {left}, they should be {expected}")
    result["rows"] = int(left.split()[0])
    shutil.rmtree(work)
    return result


def asked_truth(name: str, cache: Path) -> str:
    path = cache / f"{name}.truth"
    if not path.exists():
        path.write_text(asked("check", name, cache))
    return path.read_text()


def load_average() -> str:
    return " ".join(f"{load:.1f}" for load in os.getloadavg())


def measure(args: argparse.Namespace) -> int:
    cache = args.work / f"{args.orders}-orders"
    cache.mkdir(parents=True, exist_ok=True)
    print(f"orders and tables in {cache}", flush=True)
    asked("make", args.orders, cache)
    print(f"load average before: {load_average()}", flush=True)

    results, failed = {}, []
    for name in args.only or SCENARIOS:
        results[name] = {"wasmhost": [], "python": []}
        for number in range(args.rounds):
            for side in args.sides:
                if results[name][side] is None:
                    continue
                try:
                    result = one_run(side, name, args.wasmhost, cache, args.work / "run")
                except Wrong as wrong:
                    failed.append(str(wrong))
                    print(f"  WRONG {wrong}", flush=True)
                    continue
                if result is None:
                    print(f"  {name}, {side}: refused", flush=True)
                    results[name][side] = None
                    continue
                results[name][side].append(result)
                shown = ", ".join(f"{what} {cell(what, result[what])}" for what in MEASURES)
                print(f"  {name}, {side}, round {number + 1}: {shown}", flush=True)
    idle = [measured([sys.executable, __file__, "idle"], args.work / "idle.log")[1] for _ in range(3)]
    idle = statistics.median(run["wall"] for run in idle)
    print(f"load average after: {load_average()}\n")

    report = {"orders": args.orders, "python_start": idle, "scenarios": results}
    (args.work / "strategies.json").write_text(json.dumps(report, indent=1))
    shown = table_of(results, args.orders)
    (args.work / "strategies.md").write_text(shown)
    print(f"{shown}\nPython alone, with its imports: {idle:.2f} s. {asked('versions')}.")
    for wrong in failed:
        print(f"\nWRONG {wrong}", file=sys.stderr)
    return 1 if failed else 0


# What is measured: its heading, and how many of its base units make one shown.
MEASURES = {
    "wall": ("wall, s", 1, 2),
    "cpu": ("CPU, s", 1, 2),
    "rss": ("peak memory, MiB", 1 << 20, 0),
    "written": ("written, MB", 1_000_000, 0),
}


def cell(what: str, value: float) -> str:
    _, unit, digits = MEASURES[what]
    return f"{value / unit:.{digits}f}"


def table_of(results: dict, orders: int) -> str:
    """Markdown: wasmhost, Python, and how many times as much Python takes."""
    lines = [
        "| load | " + " | ".join(heading for heading, _, _ in MEASURES.values()) + " |",
        "|---|" + "---|" * len(MEASURES),
    ]
    for name, sides in results.items():
        ours, theirs = (
            min(runs, key=lambda run: run["wall"]) if runs else None
            for runs in (sides["wasmhost"], sides["python"])
        )
        cells = [f"`{name}`: {SCENARIOS[name]['what']}"]
        for what in MEASURES:
            left = cell(what, ours[what]) if ours else "refused" if sides["wasmhost"] is None else "–"
            right = cell(what, theirs[what]) if theirs else "–"
            ratio = f" ({theirs[what] / ours[what]:.1f} ×)" if ours and theirs and ours[what] else ""
            cells.append(f"{left} / {right}{ratio}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def versions() -> None:
    from importlib.metadata import version

    print(", ".join(f"{name} {version(name)}" for name in ("deltalake", "polars", "duckdb")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure")
    one.add_argument("wasmhost", type=Path)
    one.add_argument("work", type=Path)
    one.add_argument("--orders", type=int, default=5_000_000, help="orders in the table")
    one.add_argument("--rounds", type=int, default=3, help="the best counts")
    one.add_argument("--only", nargs="+", choices=SCENARIOS, metavar="LOAD", help="these strategies only")
    one.add_argument("--sides", nargs="+", choices=["wasmhost", "python"], default=["wasmhost", "python"])
    one = commands.add_parser("make")
    one.add_argument("orders", type=int)
    one.add_argument("cache", type=Path)
    one = commands.add_parser("side")
    one.add_argument("scenario", choices=SCENARIOS)
    one.add_argument("source", type=Path)
    one.add_argument("table", type=Path)
    one = commands.add_parser("check")
    one.add_argument("scenario", choices=SCENARIOS)
    one.add_argument("cache", type=Path)
    one.add_argument("table", type=Path, nargs="?")
    commands.add_parser("idle")
    commands.add_parser("versions")
    args = parser.parse_args()
    match args.command:
        case "measure":
            return measure(args)
        case "make":
            make(args.orders, args.cache)
        case "side":
            python_side(args.scenario, args.source, args.table)
        case "check":
            check(args.scenario, args.cache, args.table)
        case "idle":
            import deltalake  # noqa: F401
            import polars  # noqa: F401
        case "versions":
            versions()
    return 0


if __name__ == "__main__":
    sys.exit(main())
