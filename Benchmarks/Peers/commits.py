# commits.py FILE COUNT: commits rows of the size of an account to a new database, one by one, and prints the seconds.
import os
import sqlite3
import sys
import time

path, count = sys.argv[1], int(sys.argv[2])
if os.path.exists(path):
    os.unlink(path)
database = sqlite3.connect(path, isolation_level=None)
database.execute("PRAGMA journal_mode=PERSIST")
database.execute("PRAGMA synchronous=FULL")
database.execute("CREATE TABLE records (id TEXT PRIMARY KEY, record BLOB NOT NULL)")
rows = [(str(number), os.urandom(3000)) for number in range(count)]
begin = time.monotonic()
for row in rows:
    database.execute("BEGIN IMMEDIATE")
    database.execute("INSERT INTO records VALUES (?, ?)", row)
    database.execute("COMMIT")
print(time.monotonic() - begin)
