"""What `cargo xtask verify` compares: the tables that wasmhost wrote, and the same flights computed by DuckDB.

`prepare INPUT WORK` puts the flights where the flow reads them; `compare WORK` looks at what the run wrote.
"""

import gzip
import json
import shutil
import sys
from pathlib import Path

import duckdb
from deltalake import DeltaTable, QueryBuilder

# The columns that the flow's transform gives, computed from the raw ones. `time_hour` is the scheduled hour in UTC, so that
# nothing here repeats the transform's arithmetic of time zones.
EXPECTED = """
    SELECT
        format('{:04d}-{:02d}-{:02d}_{}_{}_{}_{:02d}{:02d}', year, month, day, carrier, flight, origin, hour, minute) AS flight_id,
        time_hour + to_minutes(minute) AS scheduled_at,
        CASE WHEN dep_time IS NOT NULL THEN time_hour + to_minutes(minute + dep_delay) END AS departed_at,
        carrier, flight, tailnum, origin, dest, dep_delay, arr_delay, air_time, distance,
        CASE
            WHEN dep_time IS NULL THEN 'cancelled'
            WHEN dep_delay < 0 THEN 'early'
            WHEN dep_delay < 15 THEN 'on_time'
            WHEN dep_delay < 60 THEN 'late'
            ELSE 'very_late'
        END AS delay_class,
        dep_time IS NULL AS cancelled
    FROM good
"""

COLUMNS = (
    "flight_id, scheduled_at, departed_at, carrier, flight, tailnum, origin, dest, dep_delay, arr_delay, air_time, distance, "
    "delay_class, cancelled"
)


def prepare(given: Path, work: Path) -> None:
    """Unpacks or copies the input."""
    opened = gzip.open(given, "rb") if given.suffix == ".gz" else open(given, "rb")
    with opened as source, open(work / "flights.csv", "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)


class Checks:
    """Comparisons, each a line; how many failed."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self.db = db
        self.failed = 0

    def one(self, query: str):
        return self.db.execute(query).fetchone()[0]

    def equal(self, what: str, found, expected) -> None:
        if found == expected:
            shown = expected if not isinstance(expected, list) else f"{len(expected)} values"
            print(f"  ok    {what}: {shown}")
        else:
            self.failed += 1
            print(f"  WRONG {what}: found {found}, expected {expected}")

    def same_rows(self, what: str, table: str) -> None:
        """Not a row more, not a row less, duplicates counted."""
        for name, left, right in (("missing", "expected", table), ("extra", table, "expected")):
            query = f"SELECT {COLUMNS} FROM {left} EXCEPT ALL SELECT {COLUMNS} FROM {right}"
            rows = self.db.execute(f"SELECT * FROM ({query}) LIMIT 3").fetchall()
            self.equal(f"{what}, rows {name}", rows, [])


def load(db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """All sides as tables."""
    db.execute("SET TimeZone = 'UTC'")
    db.execute(
        f"""CREATE TABLE raw AS SELECT row_number() OVER () AS row_in_file, *
        FROM read_csv('{work}/flights.csv', header = true, nullstr = ['', 'NA'], sample_size = -1, parallel = false,
                      types = {{'time_hour': 'TIMESTAMPTZ'}})"""
    )
    quarantined = list((work / "out/quarantine").glob("*.parquet"))
    aside = f"SELECT * FROM read_parquet('{work}/out/quarantine/*.parquet')"
    db.execute(f"CREATE TABLE aside AS {aside if quarantined else 'SELECT 0 AS __row, NULL AS __reason WHERE false'}")
    db.execute("CREATE TABLE good AS SELECT * FROM raw WHERE row_in_file NOT IN (SELECT __row FROM aside)")
    db.execute(f"CREATE TABLE expected AS {EXPECTED}")
    table = DeltaTable(str(work / "out/lake"))
    # Bound to a name, where DuckDB finds it.
    rows = QueryBuilder().register("lake", table).execute("SELECT * FROM lake")  # noqa: F841
    db.execute("CREATE TABLE lake AS SELECT * FROM rows")
    db.execute(f"CREATE TABLE parquet AS SELECT * FROM read_parquet('{work}/out/parquet/*.parquet')")
    types = db.execute("SELECT column_name, column_type FROM (DESCRIBE expected)").fetchall()
    types = ", ".join(f"'{name}': '{kind}'" for name, kind in types)
    db.execute(
        f"CREATE TABLE csv AS SELECT * FROM read_csv('{work}/out/csv/*.csv', header = true, types = {{{types}}})"
    )


def compare(work: Path) -> int:
    record = json.loads((work / "state/runs/verify/verify.json").read_text())
    db = duckdb.connect()
    load(db, work)
    checks = Checks(db)
    equal, one = checks.equal, checks.one

    raw, aside = one("SELECT count(*) FROM raw"), one("SELECT count(*) FROM aside")
    print(f"{raw} flights read by DuckDB, {aside} set apart by wasmhost:")
    for row, reason in db.execute("SELECT __row, __reason FROM aside ORDER BY 1").fetchall():
        print(f"        row {row}: {reason}")

    print("the record:")
    equal("rows read", record["rows_read"], raw)
    equal("rows set apart", record["rows_rejected"] + record["rows_quarantined"], aside)
    equal("rows of the result", record["rows_main"], raw - aside)
    impossible = "air_time IS NOT NULL AND distance IS NOT NULL AND NOT distance * 60 BETWEEN 70 * air_time AND 700 * air_time"
    equal(
        "rows with an impossible time in the air",
        db.execute("SELECT __row FROM aside WHERE __stage = 'rules' ORDER BY 1").fetchall() if aside else [],
        db.execute(f"SELECT row_in_file FROM raw WHERE {impossible} ORDER BY 1").fetchall(),
    )

    print("the Delta table, read by deltalake:")
    for column in ("origin", "carrier", "month(scheduled_at AT TIME ZONE 'America/New_York')"):
        expected = {"month(scheduled_at AT TIME ZONE 'America/New_York')": "month"}.get(column, column)
        counts = f"SELECT {{}} AS key, count(*) FROM {{}} GROUP BY ALL ORDER BY ALL"
        equal(
            f"flights per {expected}",
            db.execute(counts.format(column, "lake")).fetchall(),
            db.execute(counts.format(expected, "good")).fetchall(),
        )
    equal("flights", one("SELECT count(*) FROM lake"), raw - aside)
    equal("ids that occur once", one("SELECT count(DISTINCT flight_id) FROM lake"), raw - aside)
    equal(
        "cancelled flights",
        one("SELECT count(*) FROM lake WHERE cancelled"),
        one("SELECT count(*) FROM good WHERE dep_time IS NULL"),
    )
    equal(
        "scheduled_at is time_hour and the minute",
        one("SELECT sum(epoch_us(scheduled_at)) FROM lake"),
        one("SELECT sum(epoch_us(time_hour) + minute * 60000000) FROM good"),
    )
    checks.same_rows("Delta", "lake")
    print("the files, read by DuckDB:")
    checks.same_rows("Parquet", "parquet")
    checks.same_rows("CSV", "csv")

    print("all equal" if checks.failed == 0 else f"{checks.failed} comparison(s) failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["prepare", given, work]:
            prepare(Path(given), Path(work))
        case ["compare", work]:
            sys.exit(compare(Path(work)))
        case _:
            sys.exit(__doc__)
