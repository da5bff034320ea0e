"""A relay between a client and the service, which loses replies when it is told to."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


class Relay:
    """Relays connections. A lost reply has reached the service, and not the client."""

    def __init__(self, target: str) -> None:
        host, _, port = target.removeprefix("http://").partition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._to_lose: list[bytes] = []
        self.lost: list[bytes] = []
        """The beginnings of the requests whose replies were lost."""
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def lose_reply_to(self, beginning: str) -> None:
        """Loses the reply to the next request whose first line contains this."""
        with self._lock:
            self._to_lose.append(beginning.encode())

    def close(self) -> None:
        """Ends the relay, once its clients have closed their connections."""
        # `close` alone leaves a thread in its `accept`.
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._relay, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _relay(self, client: socket.socket) -> None:
        losing = threading.Event()
        with client, socket.create_connection(self._target) as service:
            back = threading.Thread(target=_pass_back, args=(service, client, losing), daemon=True)
            back.start()
            with contextlib.suppress(OSError):
                while chunk := client.recv(65536):
                    if self._loses(chunk.partition(b"\r\n")[0]):
                        losing.set()
                    service.sendall(chunk)
            _end(service)
            back.join()

    def _loses(self, line: bytes) -> bool:
        with self._lock:
            hit = next((it for it in self._to_lose if it in line), None)
            if hit is None:
                return False
            self._to_lose.remove(hit)
            self.lost.append(line)
            return True


def _pass_back(service: socket.socket, client: socket.socket, losing: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while chunk := service.recv(65536):
            if losing.is_set():
                break
            client.sendall(chunk)
    _end(client)


def _end(connection: socket.socket) -> None:
    """Ends a connection, also for a thread that waits for it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def relay(target: str) -> Iterator[Relay]:
    """A relay for a test."""
    made = Relay(target)
    yield made
    made.close()
