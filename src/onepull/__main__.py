"""`python -m onepull` and the script `onepull`: run the command; Ctrl-C stops it at any time."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PAUSE = 0.1  # seconds between looks whether an interrupt was lost
STOPPED = 130  # the exit code of an interrupted command


def start() -> None:
    """Run the command; an interrupt ends it in one line, also while modules are imported."""
    interrupted: Callable[[], bool] = bool
    try:
        interrupted = _heed_interrupts()
        # Imported here, so that an interrupt meanwhile ends as any other.
        from onepull.cli import main  # noqa: PLC0415 - see above

        main(prog_name="onepull")
        if not interrupted():
            return
    except KeyboardInterrupt:
        # Before the error is let go: what is freed with it may take long to clean up.
        _ignore_interrupts()
    except SystemExit as ended:
        if ended.code == STOPPED:
            _end_at_once()
        if ended.code == STOPPED or not interrupted():
            raise
    except BaseException:
        # Some code turns an interrupt into another error, such as Python itself in a class body.
        if not interrupted():
            raise
    finally:
        _ignore_interrupts()
    sys.stderr.write("\nonepull: stopped\n")
    _end_at_once()
    sys.exit(STOPPED)


def _end_at_once() -> None:
    """End the process, if the compiler may have been interrupted: it may crash while it is freed.

    If there are other processes of ours, the interpreter has to end them.
    """
    tracker = getattr(
        sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None
    )
    if "llvmlite" in sys.modules and getattr(tracker, "_pid", None) is None:
        import os  # noqa: PLC0415 - an interrupt while it is imported must be caught

        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(STOPPED)


def _heed_interrupts() -> Callable[[], bool]:
    """Raise KeyboardInterrupt at an interrupt, and again if it is lost; return whether one came.

    C code may clear an exception, or print it if a callback raised it, and the program goes on.
    """
    import signal  # noqa: PLC0415 - an interrupt while it is imported must be caught
    import time  # noqa: PLC0415 - the same
    from _thread import get_ident, interrupt_main, start_new_thread  # noqa: PLC0415 - the same

    here, came = get_ident(), False
    # Ends a wait too, where there is such a call.
    again = getattr(signal, "pthread_kill", lambda _thread, number: interrupt_main(number))

    def interrupt(_number: int, _frame: Any) -> None:
        nonlocal came
        if not came:
            came = True
            start_new_thread(ask_again, ())
        raise KeyboardInterrupt

    def ask_again() -> None:
        """Interrupt again whenever the command goes on as if nothing had come."""
        while hasattr(sys, "_current_exceptions"):
            time.sleep(PAUSE)
            if signal.getsignal(signal.SIGINT) is not interrupt:
                return
            handled = sys._current_exceptions().get(here)  # noqa: SLF001 - nothing else tells
            if not _comes_from_interrupt(handled):
                again(here, signal.SIGINT)

    def unraisable(found: Any) -> None:
        if not issubclass(found.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(found)

    # A shell may have had us ignore interrupts; then they stay ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = unraisable
    return lambda: came


def _comes_from_interrupt(found: Any) -> bool:
    """Return whether an exception is an interrupt, or was raised while one was handled.

    One that ends a loop over a generator also closes that; the generator knows only the latter.
    """
    error = found[1] if isinstance(found, tuple) else found  # a tuple until Python 3.11
    while error is not None and not isinstance(error, (KeyboardInterrupt, GeneratorExit)):
        error = error.__context__
    return error is not None


def _ignore_interrupts() -> None:
    """Let the interpreter end in peace: the command is done."""
    import signal  # noqa: PLC0415 - see above

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Python ends by the signal, whatever the exit code, if an interrupt left code that was run
    # from a string, as in the standard library's data classes.  Running a string forgets that.
    exec("")  # noqa: S102 - see above


if __name__ == "__main__":
    start()
