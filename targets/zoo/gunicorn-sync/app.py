import time


def app(environ, start_response):
    time.sleep(0.1)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "3")])
    return [b"ok\n"]
