"""The default transport, with a server that writes bytes as it likes."""

import contextlib
import socket
import ssl
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import quittance
from quittance import Client, HTTPTransport, Request

#: A generous limit for what has to happen at some time, in seconds.
PATIENCE = 60.0
BODY = b'{"data":{"id":"i"}}'
OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


class Server:
    """Serves each connection with a function, in a thread of its own."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self.connections = 0
        self._serve = serve
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # the test has ended
            self.connections += 1
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):  # the client may close first
            self._serve(connection)

    def close(self) -> None:
        """Accept no more connections. It may be called twice."""
        if self._socket.fileno() < 0:
            return
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes accept up
        self._socket.close()


def request(connection: socket.socket) -> bytes:
    """Read a request without a body; b"" means that the client has closed the connection."""
    text = b""
    while not text.endswith(b"\r\n\r\n"):
        part = connection.recv(4096)
        if not part:
            return b""
        text += part
    return text


def answering(connection: socket.socket) -> None:
    """Answer every request on a connection with a success."""
    while request(connection):
        connection.sendall(OK)


@contextlib.contextmanager
def served(
    serve: Callable[[socket.socket], None], timeout: float = PATIENCE, retries: int = 0
) -> Iterator[tuple[Client, Server]]:
    """Start a server, and make a client for it."""
    server = Server(serve)
    url = f"http://127.0.0.1:{server.port}"
    with Client(url, api_key="qk_x", timeout=timeout, max_retries=retries) as client:
        try:
            yield client, server
        finally:
            server.close()


class Transport(unittest.TestCase):
    """One attempt is bounded in time and size."""

    def test_a_response_that_drips_ends_at_the_time_out(self) -> None:
        def headers(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while True:
                connection.sendall(b"X")
                time.sleep(0.02)

        def body(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while True:
                connection.sendall(b" ")
                time.sleep(0.02)

        def nothing(connection: socket.socket) -> None:
            while connection.recv(4096):
                pass

        for drip in (headers, body, nothing):
            with self.subTest(drip.__name__), served(drip, timeout=0.5) as (client, _):
                with self.assertRaises(quittance.RequestTimeoutError):
                    client.account.get()

    def test_a_body_that_ends_early_is_no_response(self) -> None:
        def length(connection: socket.socket) -> None:
            request(connection)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + BODY)

        def chunked(connection: socket.socket) -> None:
            request(connection)
            head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            connection.sendall(head + b"%x\r\n%s\r\n" % (len(BODY), BODY))

        def garbage(connection: socket.socket) -> None:
            request(connection)
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")

        for cut in (length, chunked, garbage):
            with self.subTest(cut.__name__), served(cut) as (client, _):
                with self.assertRaises(quittance.TransportError):
                    client.account.get()

    def test_a_body_may_end_with_its_connection_or_come_in_chunks(self) -> None:
        def closed(connection: socket.socket) -> None:
            request(connection)
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + BODY)

        def chunked(connection: socket.socket) -> None:
            request(connection)
            head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            parts = [BODY[:5], BODY[5:], b""]
            connection.sendall(head + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts))

        for serve in (closed, chunked):
            with self.subTest(serve.__name__), served(serve) as (client, server):
                self.assertEqual(client.account.get(), {"id": "i"})
                self.assertEqual(server.connections, 1)

    def test_an_endless_body_is_not_read_to_its_end(self) -> None:
        def endless(connection: socket.socket) -> None:
            request(connection)
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
            while True:
                connection.sendall(b" " * 65536)

        with served(endless) as (client, _):
            with self.assertRaises(quittance.ResponseTooLargeError):
                client.account.get()

    def test_connections_are_used_again(self) -> None:
        with served(answering) as (client, server):
            for _ in range(5):
                client.account.get()
            self.assertEqual(server.connections, 1)
            client.close()
            client.account.get()
            self.assertEqual(server.connections, 2)

    def test_an_idle_connection_that_was_closed_is_not_used(self) -> None:
        closed = threading.Event()

        def once(connection: socket.socket) -> None:
            request(connection)
            connection.sendall(OK)
            connection.shutdown(socket.SHUT_RDWR)
            closed.set()

        with served(once) as (client, server):  # without retries
            for number in range(1, 4):
                closed.clear()
                self.assertEqual(client.account.get(), {"id": "i"})
                self.assertTrue(closed.wait(PATIENCE))
                self.assertEqual(server.connections, number)

    def test_threads_share_a_client(self) -> None:
        with served(answering) as (client, server), ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _: client.account.get(), range(200)))
            self.assertEqual(results, [{"id": "i"}] * 200)
            self.assertLessEqual(server.connections, 200)

    def test_a_redirect_is_not_followed(self) -> None:
        def redirect(connection: socket.socket) -> None:
            request(connection)
            target = b"http://127.0.0.1:%d/" % connection.getsockname()[1]
            connection.sendall(
                b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + target + b"\r\n\r\n"
            )

        with served(redirect) as (client, server):
            with self.assertRaises(quittance.UnreadableResponseError) as raised:
                client.account.get()
            self.assertEqual((raised.exception.status, server.connections), (302, 1))

    def test_the_request_is_the_one_that_was_ordered(self) -> None:
        got: list[bytes] = []

        def keep(connection: socket.socket) -> None:
            got.append(request(connection))
            connection.sendall(OK)

        with served(keep) as (client, server):
            client.invoices.get("a/b?c")
        lines = got[0].decode().split("\r\n")
        self.assertEqual(lines[0], "GET /api/v1/client/invoices/a%2Fb%3Fc HTTP/1.1")
        self.assertIn(f"Host: 127.0.0.1:{server.port}", lines)
        self.assertIn("Authorization: Bearer qk_x", lines)
        self.assertIn("User-Agent: quittance-python", lines)

    def test_certificates_are_verified_by_default(self) -> None:
        context = HTTPTransport()._context
        self.assertEqual((context.verify_mode, context.check_hostname), (ssl.CERT_REQUIRED, True))

    def test_nothing_at_an_address_is_an_error(self) -> None:
        with served(answering) as (client, server):
            server.close()
            with self.assertRaises(quittance.TransportError):
                client.account.get()

    def test_a_transport_can_be_replaced(self) -> None:
        requests: list[Request] = []

        def mine(request: Request) -> quittance.Response:
            requests.append(request)
            return quittance.Response(200, {}, BODY)

        with Client("https://h/prefix/", api_key="qk_x", timeout=5, transport=mine) as client:
            client.account.get()
        self.assertEqual(requests[0].url, "https://h/prefix/api/v1/client/account")
        self.assertEqual(requests[0].timeout, 5)
