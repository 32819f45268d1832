import sqlite3
import time

db = sqlite3.connect("run/visits.db", timeout=30, isolation_level=None)
db.execute("PRAGMA synchronous = OFF")
db.execute("CREATE TABLE IF NOT EXISTS visits (at REAL)")


def app(environ, start_response):
    db.execute("BEGIN IMMEDIATE")
    time.sleep(0.02)
    db.execute("INSERT INTO visits VALUES (?)", (time.time(),))
    db.execute("COMMIT")
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "3")])
    return [b"ok\n"]
