#!/bin/bash
# Belief: a filter of one query says nothing of the next query of the same DataFrame.
# Behaviour: a Python data source with `pushFilters` is planned once for a DataFrame that was filtered; the same
#   DataFrame without a filter (or with one that Spark does not hand on) then has only the rows of the earlier filter.
# Versions: PySpark 4.1.4, 4.2.1 and 4.3.0, with spark.sql.python.filterPushdown.enabled=true.
# Source: seen, not read. The source hands out 10 rows; all of them are counted before and behind a query for one.
# Output seen:
#   4.3.0: all before 10, n = 3 is 1, all behind 1
#   as stated
# Needs: Python 3.10 or newer with venv and pip, Java 17 or newer, and 400 MB on disk.
set -euo pipefail
version=${1:-4.3.0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q "pyspark==$version" "pyarrow>=18" || exit 2
cat > "$work/ten.py" <<'PY'
import sys

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, InputPartition


class Reader(DataSourceReader):
    only = None

    def pushFilters(self, filters):
        self.only = next((each.value for each in filters if isinstance(each, EqualTo)), None)
        return filters

    def partitions(self):
        return [InputPartition(0)]

    def read(self, partition):
        yield from ((n,) for n in range(10) if self.only in (None, n))


class Ten(DataSource):
    @classmethod
    def name(cls):
        return "ten"

    def schema(self):
        return "n int"

    def reader(self, schema):
        return Reader()


spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
spark.dataSource.register(Ten)
frame = spark.read.format("ten").load()
found = frame.count(), frame.where("n = 3").count(), frame.count()
print("{}: all before {}, n = 3 is {}, all behind {}".format(pyspark.__version__, *found))
sys.exit(0 if found == (10, 1, 1) else 1)
PY
PYSPARK_PYTHON="$work/venv/bin/python" "$work/venv/bin/python" "$work/ten.py" 2> "$work/log" || { [ $? = 1 ] && ! grep -q Traceback "$work/log" && exit 1; tail -5 "$work/log" >&2; exit 2; }
echo "as stated"
