"""A network between the command and the provider that a topic can interrupt and restore."""

import socket
import threading

from world import free_port


class Network:
    """A port that forwards to another port while the network is up."""

    def __init__(self, world, port):
        self.target = port
        self.listener = None
        self.connections = set()
        self.lock = threading.Lock()
        # It has as many digits as the other port, and remains reserved while the network is down.
        self.port = free_port()
        self.up()
        world.closers.append(self.down)

    def up(self):
        """Starts forwarding."""
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(16)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def down(self):
        if not self.listener:
            return
        with self.lock:
            ends, self.connections = [self.listener, *self.connections], set()
            self.listener = None
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def accept(self, listener):
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            with self.lock:
                self.connections |= {near, far}
            # The provider responds only to its own host name and sends it in its URLs, so replace the port. Both ports have as many digits.
            inside, outside = (f"127.0.0.1:{port}".encode() for port in (self.target, self.port))
            for source, sink, change in ((near, far, (outside, inside)), (far, near, (inside, outside))):
                threading.Thread(target=self.carry, args=(source, sink, change), daemon=True).start()

    @staticmethod
    def carry(source, sink, change):
        held = b""
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                data = (held + data).replace(*change)
                # The end of the data may contain the beginning of a host name.
                cut = next((n for n in range(len(change[0]) - 1, 0, -1) if data.endswith(change[0][:n])), 0)
                held, data = (data[-cut:], data[:-cut]) if cut else (b"", data)
                sink.sendall(data)
            sink.sendall(held)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass
