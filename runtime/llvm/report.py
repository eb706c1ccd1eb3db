"""What native code finds on this machine, in rows for the command line."""

from __future__ import annotations

import importlib.util

from . import cache, threads
from .thread_count import get_num_threads


def rows() -> list[tuple[str, str]]:
    """(label, what was found) for BLAS, vectors, threads and the folder of compiled code."""
    return [("BLAS", _blas()), ("vectors", _vectors()), ("threads", _threads()), ("cache", _cache())]


def _blas() -> str:
    if importlib.util.find_spec("threadpoolctl") is None:
        return "unknown: threadpoolctl is not installed"
    from threadpoolctl import threadpool_info

    from . import blas

    found = blas.find()
    infos = [info for info in threadpool_info() if info.get("user_api") == "blas"]
    shown = [
        f"{i['internal_api']} {i['version']}, {i['num_threads']} threads  {i['filepath']}" for i in infos
    ]
    if not shown:
        return "none found; np.matmul makes products"
    used = "called by address" if found is not None else "not called by address: no gemm of it computes right"
    return f"{'; '.join(shown)}  ({used})"


def _vectors() -> str:
    if importlib.util.find_spec("llvmlite") is None:
        return "no native code: pip install 'tapeless[native]'"
    from . import engine

    return f"{8 * engine.vector_bytes()} bits on {engine.host()[0]}, {engine.versions()}"


def _threads() -> str:
    try:
        number = get_num_threads()
    except ValueError as error:
        return str(error)
    beside = "" if threads.supported() else "; native code runs on one here"
    return f"{number}, TAPELESS_NUM_THREADS or tl.set_num_threads sets them{beside}"


def _cache() -> str:
    place = cache.folder()
    if place is None:
        return "off"
    if not place.exists():
        return f"{place}, not made yet"
    wrong = cache.what_is_wrong(place)
    if wrong:
        return f"{place}, not used: {wrong}"
    entries, nbytes = cache.size(place)
    return f"{place}, {entries} objects, {nbytes / 1e6:.1f} of {cache.MOST_BYTES / 1e6:.0f} MB"
