import json

ROWS = [{"id": n, "name": f"row {n}", "price": n * 1.25} for n in range(50)]


async def app(scope, receive, send):
    assert scope["type"] == "http"
    body = json.dumps(ROWS).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})
