# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of both clients: answers, errors, deadlines, identities, retries."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import io
import itertools
import pickle
import shutil
import signal
import socket
import subprocess
import threading
import time
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import numpy as np
import numpy.typing as npt
import pytest

import orbserve
from orbserve import _options

from .conftest import Server, make_image

Pixels = npt.NDArray[np.uint8]


def saved(features: orbserve.Features) -> bytes:
    out = io.BytesIO()
    features.save(out)
    return out.getvalue()


def test_errors_have_code_reason_and_message(client: orbserve.Client, image: Pixels) -> None:
    with pytest.raises(
        orbserve.InvalidInputError, match=r"^BAD_OPTIONS: pyramid.levels must be in \[1, 16\]; got 99"
    ) as caught:
        client.extract(image, orbserve.Orb(levels=99))
    assert caught.value.code == grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.reason == "BAD_OPTIONS"
    assert caught.value.retry_after is None
    assert not caught.value.may_pass
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is orbserve.InvalidInputError
    assert str(again) == str(caught.value)
    assert again.code == caught.value.code
    with pytest.raises(orbserve.UnsupportedError) as unsupported:
        client.extract(b"\xff\xd8\xff\xc1\x00\x0b\x0c\x00\x10\x00\x10\x01\x01\x11\x00\xff\xd9")  # of 12 bits
    assert unsupported.value.reason == "UNSUPPORTED"
    with pytest.raises(orbserve.InvalidInputError) as broken:
        client.extract(b"\xff\xd8\xff broken")
    assert broken.value.reason == "BAD_IMAGE"
    with pytest.raises(orbserve.InvalidInputError) as large:
        client.extract(np.zeros((1, 9000), np.uint8))
    assert large.value.reason == "TOO_LARGE"


def test_a_deadline_ends_a_call(client: orbserve.Client) -> None:
    image = make_image(2000, 1500)
    with pytest.raises(orbserve.DeadlineExceededError):
        client.extract(image, timeout=0.001)
    with orbserve.Client(client.address, timeout=0.001) as hasty, pytest.raises(orbserve.DeadlineExceededError):
        hasty.extract(image)


def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with orbserve.Client(f"unix:{tmp_path}/none") as client:
        with pytest.raises(orbserve.UnavailableError) as caught:
            client.info()
        assert caught.value.reason == ""
        assert caught.value.may_pass
        with pytest.raises(orbserve.UnavailableError):
            client.stream("vio")


def test_large_images_wait_for_room_on_a_small_server(folder: Path) -> None:
    config = folder / "little.textproto"
    config.write_text(f"limits {{ memory_bytes: {256 << 20} }}")
    server = Server(folder, ("--config", str(config)), listen=f"unix:{folder / 'little'}")
    image = np.dstack([make_image(1920, 1280)] * 3)  # 7 MB; all of them are more than gRPC's buffers hold
    try:
        server.wait()

        def send(_: int) -> list[int]:
            with orbserve.Client(server.address) as client:
                return [len(client.extract(image)) for _ in range(4)]

        with ThreadPoolExecutor(12) as threads:
            counts = set(itertools.chain(*threads.map(send, range(12))))
        assert len(counts) == 1
        # On one connection there are fewer at a time.
        with orbserve.Client(server.address) as client:
            assert {len(answer) for answer in client.extract_many([image] * 24, attempts=1)} == counts
    finally:
        assert server.end() == 0


def test_a_busy_server_says_when_to_come_back(folder: Path, image: Pixels) -> None:
    config = folder / "small.textproto"
    config.write_text("batching { max_queue_frames: 1 }")
    server = Server(folder, ("--config", str(config), "--threads", "1"), listen=f"unix:{folder / 'small'}")
    try:
        server.wait()
        large = make_image(2000, 1500)
        with orbserve.Client(server.address) as client:
            answers = list(client.extract_many([large] * 16, attempts=1, errors="return"))
            refused = [answer for answer in answers if isinstance(answer, orbserve.OrbserveError)]
            assert refused
            assert len(refused) < 16
            assert all(isinstance(error, orbserve.OverloadedError) for error in refused)
            assert {error.reason for error in refused} <= {"QUEUE_FULL", "QUOTA_EXCEEDED"}
            assert all(error.retry_after is not None and error.retry_after > 0 for error in refused)
            # With more tries all of them get their place.
            assert len(list(client.extract_many([large] * 6, attempts=20, in_flight=3))) == 6
    finally:
        assert server.end() == 0


def test_images_over_the_quota_wait_for_each_other(folder: Path) -> None:
    config = folder / "quota.textproto"
    config.write_text("batching { max_queue_frames: 8 }")  # a client has two of them
    server = Server(folder, ("--config", str(config), "--threads", "1"), listen=f"unix:{folder / 'quota'}")

    async def extract_all() -> list[int]:
        images = [make_image(1200, 900)] * 24
        async with orbserve.AsyncClient(server.address) as client:
            return [len(answer) async for answer in client.extract_many(images, attempts=2, in_flight=16)]

    try:
        server.wait()
        counts = asyncio.run(extract_all())
        assert len(counts) == 24
        assert len(set(counts)) == 1
    finally:
        assert server.end() == 0


def test_many_answers_come_in_order(client: orbserve.Client) -> None:
    images = [make_image(200 + 8 * i, 200, seed=i) for i in range(20)]
    taken = []

    def source() -> Iterator[Pixels]:
        for i, image in enumerate(images):
            taken.append(i)
            yield image

    answers = client.extract_many(source(), in_flight=4)
    first = next(answers)
    assert first.image_size == (200, 200)
    assert len(taken) <= 5  # the source is read as answers are taken
    assert [first.image_size[0], *(a.image_size[0] for a in answers)] == [i.shape[1] for i in images]


def test_an_image_that_fails_fails_alone(client: orbserve.Client, image: Pixels, tmp_path: Path) -> None:
    images: list[orbserve.Image] = [image, np.zeros(3, np.uint8), b"\xff\xd8\xff", tmp_path / "none.jpg", image]
    answers = list(client.extract_many(images, errors="return"))
    kinds = [type(answer).__name__ for answer in answers]
    assert kinds == ["Features", "ValueError", "InvalidInputError", "FileNotFoundError", "Features"]
    first_failed = client.extract_many(images)
    assert len(next(first_failed)) > 0
    with pytest.raises(ValueError, match="must have the shape"):
        next(first_failed)
    with pytest.raises(ValueError, match="in_flight and attempts must be at least 1; got 0 and 6"):
        client.extract_many(images, in_flight=0)


def test_a_restarted_server_costs_no_image(own_server: Server) -> None:
    images = [make_image(640, 480, seed=i) for i in range(6)]
    with orbserve.Client(own_server.address) as client:
        expected = [saved(client.extract(image)) for image in images]

        def restart() -> None:
            own_server.end(signal.SIGKILL)
            time.sleep(0.3)
            own_server.start()

        killer = threading.Timer(0.2, restart)
        killer.start()
        answers = [saved(a) for a in client.extract_many(images * 40, in_flight=8, attempts=20)]
        killer.join()
        assert answers == expected * 40


def test_references_belong_to_the_client_id(server: Server, image: Pixels) -> None:
    with orbserve.Client(server.address, client_id="a") as a, orbserve.Client(server.address, client_id="b") as b:
        features = a.extract(image)
        one = a.put_reference("one", image)
        assert one.reference.feature_count == len(features)
        assert one.evicted == ()
        two = a.put_reference("two", features)
        assert two.reference.version > one.reference.version
        listed = a.list_references()
        assert [reference.name for reference in listed.references] == ["one", "two"]
        assert 0 < listed.used_bytes < listed.capacity_bytes
        assert listed.references[0].descriptor_type == orbserve.DescriptorType.RBRIEF_256
        assert b.list_references().references == ()
        matches = a.match(image, orbserve.Reference("one"))
        assert matches.reference_version == one.reference.version
        assert (matches.distance == 0).all()
        with pytest.raises(orbserve.ReferenceNotFoundError):
            b.match(image, orbserve.Reference("one"))
        a.delete_reference("one")
        a.delete_reference("two")
        with pytest.raises(orbserve.ReferenceNotFoundError) as caught:
            a.delete_reference("one")
        assert caught.value.reason == "REFERENCE_NOT_FOUND"


def test_a_thousand_references_are_listed_page_by_page(server: Server) -> None:
    features = orbserve.Features(np.zeros((1, 2), np.float32), descriptors=np.zeros((1, 32), np.uint8))
    with orbserve.Client(server.address, client_id="many") as client:
        names = [f"r{i:04}" for i in range(1001)]
        for name in names:
            client.put_reference(name, features)
        assert [reference.name for reference in client.list_references().references] == names
        for name in names:
            client.delete_reference(name)


def test_health_and_info(client: orbserve.Client) -> None:
    assert client.health() is True
    assert client.health("orbserve.v1.Features") is True
    with pytest.raises(orbserve.OrbserveError) as unknown:
        client.health("no.such.Service")
    assert type(unknown.value) is orbserve.OrbserveError  # it is about no reference
    assert unknown.value.code == grpc.StatusCode.NOT_FOUND
    info = client.info()
    assert info.active_backend == "cpu"
    assert info.devices[0].device == "cpu"
    assert info.limits.max_side_px == 8192


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not here: TLS is NOT tested")
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, cwd=folder, capture_output=True)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=ca")
    for name in ("server", "robot"):
        (folder / f"{name}.ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n" if name == "server" else "")
        openssl("req", *new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", f"{name}.ext")
        openssl("x509", "-req", "-in", f"{name}.csr", *signing, "-out", f"{name}.pem", "-days", "2")
    return folder


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_tls_with_certificates(folder: Path, certificates: Path, image: Pixels) -> None:
    arguments = ("--tls-cert", f"{certificates}/server.pem", "--tls-key", f"{certificates}/server.key")
    server = Server(folder, (*arguments, "--tls-client-ca", f"{certificates}/ca.pem"), f"localhost:{free_port()}")
    names = {"tls_ca": certificates / "ca.pem"}
    own = {"tls_cert": certificates / "robot.pem", "tls_key": certificates / "robot.key"}
    try:
        server.wait(**names, **own)
        with orbserve.Client(server.address, **names, **own, client_id="robot/front") as client:  # type: ignore[arg-type]
            assert len(client.extract(image)) > 0
            with client.stream("vio") as stream:
                assert stream.opened.stream_id > 0
        with orbserve.Client(server.address, **names, **own, client_id="other") as client:  # type: ignore[arg-type]
            with pytest.raises(orbserve.OrbserveError) as caught:
                client.extract(image)
            assert caught.value.reason in ("UNAUTHENTICATED", "BAD_REQUEST")
        with orbserve.Client(server.address, tls_ca=names["tls_ca"]) as client:
            with pytest.raises(orbserve.UnavailableError, match=r"certificate of the client .*`tls_cert`"):
                client.info(timeout=5)
        with orbserve.Client(server.address) as client:
            with pytest.raises(orbserve.UnavailableError, match=r"maybe the server wants TLS \(`tls_ca`\)"):
                client.info(timeout=5)
        with orbserve.Client(server.address, **own, tls_ca=certificates / "robot.pem") as client:  # type: ignore[arg-type]
            with pytest.raises(orbserve.UnavailableError, match="certificate of the server is"):
                client.info(timeout=5)
    finally:
        server.end()


def test_tokens(folder: Path, certificates: Path, image: Pixels, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    token = "0123456789abcdef0123456789abcdef"
    tokens.write_text(f"robot sha256:{hashlib.sha256(token.encode()).hexdigest()}\n")
    server = Server(folder, ("--token-file", str(tokens)), f"127.0.0.1:{free_port()}")
    mine = tmp_path / "mine"
    mine.write_text(token + "\nsecond line\n")
    try:
        server.wait(token=token)
        with orbserve.Client(server.address, token_file=mine) as client:
            assert len(client.extract(image)) > 0
            with client.stream("vio") as stream:
                assert stream.opened.stream_id > 0
        with orbserve.Client(server.address, token="wrong-wrong-wrong-wrong-wrong-wrong") as client:
            with pytest.raises(orbserve.UnauthenticatedError) as caught:
                client.extract(image)
            assert caught.value.reason == "UNAUTHENTICATED"
        with orbserve.Client(server.address) as client:
            with pytest.raises(orbserve.UnauthenticatedError, match="the call has no token; give token_file"):
                client.info()
        with orbserve.Client(server.address, tls_ca=certificates / "ca.pem") as client:
            with pytest.raises(orbserve.UnavailableError, match="speaks plain text there: connect without `tls_ca`"):
                client.info(timeout=5)
    finally:
        server.end()


def test_the_port_of_http_pages_is_told_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as pages:

        def answer() -> None:
            connection, _ = pages.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        server = threading.Thread(target=answer, daemon=True)
        server.start()
        with orbserve.Client(f"127.0.0.1:{pages.getsockname()[1]}") as client:
            with pytest.raises(orbserve.UnavailableError, match=r"give the port of its service \(--listen\)"):
                client.info(timeout=5)
        server.join(5)


def test_arguments_that_contradict_each_other(tmp_path: Path) -> None:
    for arguments, text in (
        ({"tls_cert": "a"}, "tls_cert and tls_key belong together"),
        ({"tls_cert": "a", "tls_key": "b"}, "need tls_ca"),
        ({"token": "a", "token_file": "b"}, "token or token_file, not both"),
        ({"token": "a b"}, r"^token must be .* without spaces; got 3 characters, of which number 2 is none of them$"),
        ({"token": "a", "address": "robot:50051"}, "over TLS, Unix sockets and the loopback only; got robot:50051"),
        ({"token": "a", "address": "127.example.org:1"}, "loopback only; got 127.example.org:1"),
        ({"token": "a", "address": "ipv4:127.0.0.1:1,192.0.2.1:1"}, "loopback only; got ipv4:127.0.0.1:1,192.0.2.1:1"),
        ({"address": "localhost"}, "an address is HOST:PORT, such as localhost:50051; got 'localhost'"),
        ({"address": "http://robot:50051"}, "an address is HOST:PORT, without http://; got http://robot:50051"),
        ({"address": "/run/orbserve.sock"}, "a socket is given as unix:/run/orbserve.sock"),
    ):
        for kind in (orbserve.Client, orbserve.AsyncClient):
            with pytest.raises(ValueError, match=text):
                kind(**arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="an address is a str; got int"):
        orbserve.Client(50051)  # type: ignore[arg-type]
    for address in ("127.0.0.2:1", "localhost:1", "[::1]:1", "ipv4:127.0.0.1:1,127.0.0.2:1", "unix:/nowhere"):
        orbserve.Client(address, token="a").close()
    with pytest.raises(FileNotFoundError):
        orbserve.Client(tls_ca=tmp_path / "none.pem")


@pytest.mark.parametrize("kind", [orbserve.Client, orbserve.AsyncClient])
@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("client_id", "café", ValueError, "client_id must be 1 to 641 bytes of printable ASCII; got 'café'"),
        ("client_id", "a\nb", ValueError, r"client_id must be 1 to 641 bytes of printable ASCII; got 'a\nb'"),
        ("client_id", "a\0b", ValueError, r"client_id must be 1 to 641 bytes of printable ASCII; got 'a\x00b'"),
        ("client_id", "\udc80", ValueError, r"client_id must be 1 to 641 bytes of printable ASCII; got '\udc80'"),
        ("client_id", "a" * 642, ValueError, f"got 642 characters that begin with '{'a' * 40}'"),
        ("client_id", b"robot", TypeError, "client_id must be a str; got bytes"),
        ("client_id", 5, TypeError, "client_id must be a str; got int"),
        ("token", "sécret", ValueError, "token must be 1 to 4096 bytes of printable ASCII without spaces; got 6 char"),
        ("token", "secret\n", ValueError, "got 7 characters, of which number 7 is none of them"),
        ("token", "", ValueError, "got 0 characters"),
        ("token", "a" * 4097, ValueError, "got 4097 characters"),
        ("token", b"secret", TypeError, "token must be a str; got bytes"),
        ("address", "robot\n:1", ValueError, r"HOST:PORT without control characters; got 'robot\n:1'"),
        ("address", "unix:/tmp/a\0b", ValueError, r"HOST:PORT without control characters; got 'unix:/tmp/a\x00b'"),
        ("address", "\udc80:1", ValueError, r"HOST:PORT without control characters; got '\udc80:1'"),
    ],
)
def test_text_that_cannot_be_metadata_is_refused_at_once(
    kind: Callable[..., object], name: str, value: object, error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        kind(**{"address": "localhost:1", name: value})
    assert type(caught.value) is error
    assert text in str(caught.value)
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize("kind", [orbserve.Client, orbserve.AsyncClient])
@pytest.mark.parametrize("content", [b"", b"\n", b"sec ret\n", "sécret\n".encode(), b"\xff\xfe"])
def test_a_token_file_without_a_token_is_named(kind: Callable[..., object], content: bytes, tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"^the first line of token_file '.*/mine' must be .* ASCII without spaces; got"
    ):
        kind("localhost:1", token_file=tmp_path / "mine")


def test_arguments_of_wrong_types_are_named(client: orbserve.Client, image: Pixels) -> None:
    with pytest.raises(TypeError, match=r"a pipeline is the name of a preset, or options such as Orb\(\); got int"):
        client.extract(image, 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a name is a str; got int"):
        client.put_reference(5, image)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='errors must be "raise" or "return"; got \'ignore\''):
        client.extract_many([image], errors="ignore")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"references must be several names, such as \['marker'\]; got a str"):
        client.stream(references="marker")
    with pytest.raises(ValueError, match=r"deadline_ms: .*-1"):
        client.stream(deadline_ms=-1)
    for reconnect in (-1, float("nan"), "5"):
        with pytest.raises(ValueError, match="reconnect: seconds must be a number of seconds, 0 or more; got"):
            client.stream(reconnect=reconnect)  # type: ignore[arg-type]


def test_threads_share_a_client(client: orbserve.Client) -> None:
    images = [make_image(300, 200, seed=i) for i in range(8)]
    expected = [saved(client.extract(image)) for image in images]
    found: dict[int, list[bytes]] = {}

    def work(number: int) -> None:
        found[number] = [saved(client.extract(image)) for image in images]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [expected] * 6


def test_the_asynchronous_client_answers_as_the_blocking_one(
    server: Server, client: orbserve.Client, image: Pixels, tmp_path: Path
) -> None:
    async def main() -> None:
        async with orbserve.AsyncClient(server.address, client_id="async") as c:
            assert await c.health()
            assert (await c.info()).version == orbserve.__version__
            features = await c.extract(image, "bfrost")
            assert saved(features) == saved(client.extract(image, "bfrost"))
            stored = await c.put_reference("mine", features)
            matches = await c.match(image, orbserve.Reference("mine"), pipeline="bfrost")
            assert matches.reference_version == stored.reference.version
            assert len(matches) > 0
            assert [r.name for r in (await c.list_references()).references] == ["mine"]
            await c.delete_reference("mine")
            with pytest.raises(orbserve.ReferenceNotFoundError):
                await c.delete_reference("mine")
            with pytest.raises(orbserve.InvalidInputError) as caught:
                await c.extract(image, orbserve.Orb(levels=99))
            assert caught.value.reason == "BAD_OPTIONS"
            with pytest.raises(orbserve.DeadlineExceededError):
                await c.extract(make_image(2000, 1500), timeout=0.001)

            async def source() -> AsyncIterator[Pixels]:
                for i in range(10):
                    yield make_image(200 + 8 * i, 200, seed=i)

            sizes = [f.image_size[0] async for f in c.extract_many(source(), in_flight=3)]
            assert sizes == [200 + 8 * i for i in range(10)]
            mixed: list[orbserve.Image] = [image, np.zeros(3, np.uint8), b"\xff\xd8\xff", tmp_path / "none.jpg", image]
            kinds = [type(a).__name__ async for a in c.extract_many(mixed, errors="return")]
            assert kinds == ["Features", "ValueError", "InvalidInputError", "FileNotFoundError", "Features"]
            with pytest.raises(ValueError, match="must have the shape"):
                [a async for a in c.extract_many(mixed)]
            together = await asyncio.gather(*(c.extract(image) for _ in range(20)))
            assert len({saved(f) for f in together}) == 1
            task = asyncio.create_task(c.extract(make_image(2000, 1500)))
            await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


def test_threads_may_read_their_first_answers_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclasses.dataclass
    class Kind:
        name: int | None

    inside, go_on = threading.Event(), threading.Event()
    hints = typing.get_type_hints

    def slow_hints(kind: type) -> dict[str, object]:
        if not inside.is_set():
            inside.set()
            assert go_on.wait(30)
        return hints(kind)

    monkeypatch.setattr(typing, "get_type_hints", slow_hints)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(_options._types, Kind)
        assert inside.wait(30)
        assert _options._types(Kind) == {"name": int}
        go_on.set()
        assert first.result(30) == {"name": int}
