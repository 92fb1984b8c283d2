"""A server on loopback that speaks OpenAI's files and batches, whose batches end when a test says so."""

import email
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class BatchServer:
    """`answer(body)` gives a row's reply, or (status, error); `status` is what batches end in."""

    def __init__(self, answer):
        self.answer = answer
        self.status = "completed"
        self.released = threading.Event()
        """Batches end once it is set."""
        self.mute = False
        """Batches are made, and the client never hears of it."""
        self.files, self.batches, self.uploads = {}, {}, []
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_POST(self):
                raw = self.rfile.read(int(self.headers["content-length"]))
                path = urlsplit(self.path).path
                with lock:
                    if path == "/v1/files":
                        self.send(outer.upload(self.headers["content-type"], raw))
                        return
                    made = outer.make(json.loads(raw))
                if outer.mute:
                    time.sleep(60)
                self.send(made)

            def do_GET(self):
                parts = urlsplit(self.path).path.split("/")[2:]
                with lock:
                    if parts[0] == "files":
                        self.send(outer.files[parts[1]])
                    elif len(parts) == 1:
                        self.send({"object": "list", "data": list(outer.batches.values()), "has_more": False})
                    elif parts[1] in outer.batches:
                        self.send(outer.look(parts[1]))
                    else:
                        self.send({"error": {"message": "No such batch", "code": "not_found"}}, 404)

            def send(self, content, status=200):
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                try:
                    self.send_response(status)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def upload(self, kind, raw):
        form = email.message_from_bytes(b"content-type: " + kind.encode() + b"\r\n\r\n" + raw)
        parts = {part.get_param("name", header="content-disposition"): part for part in form.get_payload()}
        assert parts["purpose"].get_payload() == "batch"
        data = parts["file"].get_payload(decode=True)
        self.uploads.append([json.loads(line) for line in data.splitlines()])
        return self.store(data, "batch")

    def store(self, data, purpose):
        name = f"file-{len(self.files)}"
        self.files[name] = data
        return {
            "id": name,
            "object": "file",
            "bytes": len(data),
            "created_at": 1,
            "filename": "verikit.jsonl",
            "purpose": purpose,
            "status": "processed",
        }

    def make(self, body):
        assert body["completion_window"] == "24h"
        name = f"batch_{len(self.batches)}"
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": body["endpoint"],
            "input_file_id": body["input_file_id"],
            "completion_window": "24h",
            "status": "validating",
            "created_at": 1,
            "output_file_id": None,
            "error_file_id": None,
            "errors": None,
        }
        return self.batches[name]

    def look(self, name):
        batch = self.batches[name]
        if batch["status"] == "validating":
            batch["status"] = "in_progress"
        elif batch["status"] == "in_progress" and self.released.is_set():
            self.end(batch)
        return batch

    def end(self, batch):
        batch["status"] = self.status
        if self.status == "failed":
            batch["errors"] = {"object": "list", "data": [{"code": "invalid", "message": "line 1 is wrong", "line": 1}]}
            return
        rows = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        if self.status == "expired":
            rows = rows[: len(rows) // 2]
        good, bad = [], []
        for row in reversed(rows):  # a batch's output is in no order
            assert row["url"] == batch["endpoint"]
            reply = self.answer(row["body"])
            status, body = reply if isinstance(reply, tuple) else (200, reply)
            response = {"status_code": status, "request_id": "req_1", "body": body}
            line = {"id": "batch_req_1", "custom_id": row["custom_id"], "response": response, "error": None}
            (good if status == 200 else bad).append(line)
        for key, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                data = "".join(json.dumps(line) + "\n" for line in lines).encode()
                batch[key] = self.store(data, "batch_output")["id"]
