#!/bin/bash
# Belief: a data source of Python that was registered with a session is known to all readers and writers of it.
# Behaviour: `DataFrameWriter.save` looks for it in the session that is active in its own thread. Where another thread
#   made the session, no session is active in this one: the writer says that there is no such data source, while a
#   reader finds it. `spark.createDataFrame` makes the session the active one of its thread.
# Versions: PySpark 4.0.5 and 4.3.0.
# Source: `DataSource.lookupDataSource` asks `SparkSession.getActiveSession`, which is kept by thread.
# Output seen:
#   4.3.0: read 3, written by the main thread: no (DATA_SOURCE_NOT_FOUND), behind createDataFrame: yes
#   as stated
# Needs: Python 3.10 or newer with venv and pip, Java 17 or newer, and 400 MB on disk.
set -euo pipefail
version=${1:-4.3.0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q "pyspark==$version" "pyarrow>=18" || exit 2
cat > "$work/both.py" <<'PY'
import sys
from concurrent.futures import ThreadPoolExecutor

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource, DataSourceReader, DataSourceWriter, InputPartition, WriterCommitMessage,
)


class Reader(DataSourceReader):
    def partitions(self):
        return [InputPartition(0)]

    def read(self, partition):
        yield from ((n,) for n in range(3))


class Writer(DataSourceWriter):
    def write(self, rows):
        for _ in rows:
            pass
        return WriterCommitMessage()


class Both(DataSource):
    @classmethod
    def name(cls):
        return "both"

    def schema(self):
        return "n int"

    def reader(self, schema):
        return Reader()

    def writer(self, schema, overwrite):
        return Writer()


def session():
    return SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()


def written(frame):
    try:
        frame.write.format("both").mode("append").save()
    except Exception as error:
        return "no (DATA_SOURCE_NOT_FOUND)" if "DATA_SOURCE_NOT_FOUND" in str(error) else str(error)
    return "yes"


with ThreadPoolExecutor(1) as pool:
    spark = pool.submit(session).result()
spark.dataSource.register(Both)
frame = spark.read.format("both").load()
found = [frame.count(), written(frame)]
spark.createDataFrame([], "n int")
found.append(written(frame))
text = "{}: read {}, written by the main thread: {}, behind createDataFrame: {}"
print(text.format(pyspark.__version__, *found))
sys.exit(0 if found == [3, "no (DATA_SOURCE_NOT_FOUND)", "yes"] else 1)
PY
PYSPARK_PYTHON="$work/venv/bin/python" "$work/venv/bin/python" "$work/both.py" 2> "$work/log" || { [ $? = 1 ] && ! grep -q Traceback "$work/log" && exit 1; tail -5 "$work/log" >&2; exit 2; }
echo "as stated"
