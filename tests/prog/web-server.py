# SPDX-License-Identifier: Apache-2.0
"""web-server.py REQUESTS: Python's threaded HTTP server, on a port that its first line tells, for so many
connections. Every request prints the thread, the client's port and the time."""
import http.server
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = f"request of {self.path} by {threading.current_thread().name}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, form, *args):
        who = threading.current_thread().name
        print(who, self.client_address[1], time.time(), form % args, flush=True)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = False


server = Server(("127.0.0.1", 0), Handler)
print("port", server.server_address[1], flush=True)
for _ in range(int(sys.argv[1])):
    server.handle_request()
server.server_close()
print("requests are done")
