import time

from fastapi import FastAPI

app = FastAPI()


@app.get("/")
def wait():
    time.sleep(0.2)
    return {"ok": True}
