"""Keeps the memory of a process that runs for long level, where glibc manages it; elsewhere nothing changes."""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# parameters of mallopt(3)
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _PERTURB, _ARENAS = -1, -3, -6, -8
# each thread would get its own arena, which keeps the memory of its largest request
ARENAS = 2
# larger blocks, such as bodies of requests, go back to the system when they are freed. Without a limit that is set, one
# body of 32 MiB raises it to that, and every later one stays
LARGE_BYTES = 4 * 2**20
_FREE_BYTES = 8 * 2**20
# Python's own blocks are multiples of 16 bytes up to 512; an empty bytes object takes 33 of them
_SMALL_BLOCKS, _BYTES_HEAD = range(48, 513, 16), 33
_ARENA_BYTES = 2**20
# sizes in which what is free in glibc's arenas is taken, the largest first, and how many between two looks
_LARGE_BLOCKS = (
    2**20, 2**18, 2**16, 2**15, 2**14, 2**13, 6144, 4096, 3072, 2048, 1536, 1024, 768, 640, 512, 448, 384, 320, 256,
    224, 192, 160, 144, 128, 112, 96, 80, 64, 48, 32, 24,
)  # fmt: skip
_BATCH, _BATCH_BYTES = 64, 2 * 2**20
_MOST_BATCHES = 4_000
# one at a time: an arena that grows for somebody else would end it early
_wiping = threading.Lock()


def configure() -> None:
    """Limit the arenas, and give large blocks back as soon as they are free. It is the whole process that changes."""
    with suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_ARENAS, ARENAS)
        libc.mallopt(_MMAP_THRESHOLD, LARGE_BYTES)
        libc.mallopt(_TRIM_THRESHOLD, _FREE_BYTES)


def give_back() -> None:
    """Give free memory back to the system. Takes a few milliseconds, without Python's lock."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def wiped_blocks() -> Iterator[None]:
    """Let glibc overwrite each block when it is freed and when it is handed out, during the context."""
    _perturb(0xA5)
    try:
        yield
    finally:
        _perturb(0)


def _perturb(byte: int) -> None:
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_PERTURB, byte)


def wipe() -> None:
    """Overwrite memory that is free and was not given back: a freed text stays readable until its place is used again.

    Everything that is free is taken, zeroed and freed, first from Python's own pools, then from each arena of glibc.
    Takes about a second of processor time.
    """
    with _wiping, suppress(AttributeError, OSError):
        _wipe_small()
        libc = _libc()
        # a thread takes from one arena for as long as it lives, and threads that live at once are spread over all
        attached, turn = threading.Barrier(2 * ARENAS), threading.Lock()
        threads = [
            threading.Thread(target=_wipe_arena, args=(libc, attached, turn), name="keepword-wipe", daemon=True)
            for _ in range(2 * ARENAS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        libc.malloc_trim(0)


def _wipe_small() -> None:
    for size in _SMALL_BLOCKS:
        before = _mapped_bytes()
        blocks: list[list[bytes]] = []
        # a new arena means that nothing of this size is free in the others
        while _mapped_bytes() - before < _ARENA_BYTES and len(blocks) < _MOST_BATCHES:
            blocks.append([bytes(size - _BYTES_HEAD) for _ in range(10 * _BATCH)])


def _mapped_bytes() -> int:
    with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 - read very often
        return int(statm.read().split()[0]) * 4096


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    )]  # fmt: skip


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    libc.malloc_usable_size.restype, libc.malloc_usable_size.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
    libc.mallinfo2.restype = _Mallinfo
    return libc


def _wipe_arena(libc: ctypes.CDLL, attached: threading.Barrier, turn: threading.Lock) -> None:
    """Take all that is free in the arena of this thread, in ever smaller blocks, and zero it."""
    libc.free(libc.malloc(_LARGE_BLOCKS[0]))
    attached.wait()
    with turn:
        taken: list[int] = []
        for size in _LARGE_BLOCKS:
            taken += _take(libc, size)
        for block in taken:
            libc.free(block)


def _take(libc: ctypes.CDLL, size: int) -> list[int]:
    """Take and zero blocks of a size until the arena has to grow for another."""
    taken: list[int] = []
    before, amount = libc.mallinfo2().arena, max(1, min(_BATCH, _BATCH_BYTES // size))
    for _ in range(_MOST_BATCHES):
        batch = [block for block in (libc.malloc(size) for _ in range(amount)) if block]
        for block in batch:
            ctypes.memset(block, 0, libc.malloc_usable_size(block))
        taken += batch
        if libc.mallinfo2().arena > before:
            break
    return taken
