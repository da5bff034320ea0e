"""A TCP proxy before the database, which loses connections as networks do. Standard library only.

A direction that is held passes nothing, and no end of a connection learns of it. What was sent
meanwhile arrives when the direction is released, as after a partition of a network: a statement may
reach the server long after the sender gave it up.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading

CHUNK_BYTES = 65536

# The time for a connection to the server, in seconds.
CONNECT_S = 5

# With these, the close of a socket sends RST in place of FIN.
NO_LINGER = struct.pack("ii", 1, 0)


class Proxy:
    """A port of its own that leads to a port of the same machine."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = int(self.listener.getsockname()[1])
        self.to_server, self.to_client = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        self.open: set[socket.socket] = set()
        self.release()
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self, *, to_server: bool, to_client: bool) -> None:
        """Holds back what is sent in these directions, also on new connections."""
        if to_server:
            self.to_server.clear()
        if to_client:
            self.to_client.clear()

    def release(self) -> None:
        """Passes on what was held back, and all that follows."""
        self.to_server.set()
        self.to_client.set()

    def reset(self) -> None:
        """Ends all connections with RST, and what was held back on them is lost."""
        with self.lock:
            ended, self.open = self.open, set()
        for end in ended:
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
                # A thread that reads from it wakes with this alone.
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def point(self, target: int) -> None:
        """Leads new connections to another port, and ends the others."""
        self.target = target
        self.reset()

    def close(self) -> None:
        """Ends the proxy."""
        self.listener.close()
        self.reset()
        self.release()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self.target), timeout=CONNECT_S)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.lock:
            self.open |= {client, server}
        back = threading.Thread(
            target=self._pump, args=(server, client, self.to_client), daemon=True
        )
        back.start()
        self._pump(client, server, self.to_server)
        back.join()
        with self.lock:
            self.open -= {client, server}
        client.close()
        server.close()

    def _pump(self, source: socket.socket, sink: socket.socket, is_open: threading.Event) -> None:
        """Passes on one direction of a connection, until its end."""
        with contextlib.suppress(OSError):
            while chunk := source.recv(CHUNK_BYTES):
                is_open.wait()
                sink.sendall(chunk)
        is_open.wait()
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
