"""TLS in front of a plain server, and an HTTP proxy that leads every host to it.

Usage: tls.py CERTIFICATE KEY PORT PORTS. Writes its two ports into the file PORTS and prints the target of each CONNECT.
"""

import asyncio
import os
import ssl
import sys

certificate, key, plain, ports = sys.argv[1:]


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


async def tunnel(reader, writer, port):
    other_reader, other_writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(copy(reader, other_writer), copy(other_reader, writer))


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def decrypt(reader, writer):
        await tunnel(reader, writer, int(plain))

    async def connect(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        print(head.split()[1].decode(), flush=True)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await tunnel(reader, writer, port(tls))

    def port(server):
        return server.sockets[0].getsockname()[1]

    tls = await asyncio.start_server(decrypt, "127.0.0.1", 0, ssl=context)
    proxy = await asyncio.start_server(connect, "127.0.0.1", 0)
    with open(ports + ".new", "w") as file:
        file.write(f"{port(tls)} {port(proxy)}")
    os.rename(ports + ".new", ports)
    await asyncio.Event().wait()


asyncio.run(main())
