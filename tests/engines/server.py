"""A small real HTTP server on loopback, whose answers a test scripts."""

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def chat_reply(text="A", n=1, **more):
    choices = [{"index": i, "message": {"content": text}, "finish_reason": "stop"} for i in range(n)]
    return {"choices": choices, "usage": {"prompt_tokens": 3, "completion_tokens": n}, **more}


class Server:
    """Calls `answer(body, k)` for the k-th time a body is posted; it returns one of

    - a dict: sent as JSON with status 200
    - (status, body as dict, str or bytes[, headers])
    - a callable: gets the handler and writes what it likes

    `models` are those that /models lists, or a function that returns one of the above.
    """

    def __init__(self, answer, models=None, port=0):
        self.bodies, self.headers, self.paths = [], [], []
        self.seen = Counter()
        self.most_at_once = 0
        self._now = 0
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_GET(self):
                outer.paths.append(self.path)
                if callable(models):
                    self.send(models())
                else:
                    self.send({"data": models} if models is not None else (404, {"detail": "Not Found"}))

            def do_POST(self):
                raw = self.rfile.read(int(self.headers["content-length"]))
                with lock:
                    outer._now += 1
                    outer.most_at_once = max(outer.most_at_once, outer._now)
                    k = outer.seen[raw]
                    outer.seen[raw] += 1
                    body = json.loads(raw)
                    outer.bodies.append(body)
                    outer.headers.append(dict(self.headers))
                    outer.paths.append(self.path)
                try:
                    self.send(answer(body, k))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with lock:
                        outer._now -= 1

            def send(self, result):
                if callable(result):
                    result(self)
                    self.close_connection = True
                    return
                status, content, headers = result if isinstance(result, tuple) and len(result) == 3 else (
                    (*result, {}) if isinstance(result, tuple) else (200, result, {})
                )  # fmt: skip
                if isinstance(content, dict):
                    content = json.dumps(content)
                content = content.encode() if isinstance(content, str) else content
                self.send_response(status)
                for name, value in {"content-length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

        self._server = Quiet(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def hang(handler):
    time.sleep(30)


def drip(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
    for _ in range(600):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def cut(handler):
    handler.wfile.write(b'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"choices": [{"mess')


def drop(handler):
    pass
