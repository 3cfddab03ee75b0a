"""`muisti worker`: extract, embed and run maintenance for other processes."""

from __future__ import annotations

import logging
import signal
import threading
from dataclasses import asdict

import click

from muisti.errors import MuistiError, SettingsError
from muisti.locations import find_database
from muisti.model.tenants import Access
from muisti.surfaces.background import DueWork
from muisti.surfaces.cli.shared import common_options, note, note_trust, print_json

log = logging.getLogger("muisti")
SETTLE = 0.5
"""Seconds without a change after which the worker looks for work: a process that saves a memory
embeds it itself, if it can.
"""
POLL = 1.0
"""Seconds after which the worker looks whether it should stop."""
RESUME = 10.0
"""Seconds between two looks at what other processes left, if they announce no change."""
MAINTENANCE_AFTER, MAINTENANCE_EVERY = 600.0, 86_400.0


@click.command()
@click.option("--once", is_flag=True, help="Process what is waiting, then exit.")
@click.option("--retry", is_flag=True, help="Also retry what was given up after repeated failures.")
@click.option("--tenants", is_flag=True, help="Work for all tenants of the database, in turn.")
@common_options
def worker(once: bool, retry: bool, tenants: bool, vault: str | None, as_json: bool) -> None:
    """Extract and embed for servers that share a database.

    `muisti serve` does the same beside its requests. Run any number of workers: they never do the
    same work twice, and another one takes over from a killed worker after a minute. Stop a worker
    with Ctrl+C or SIGTERM; others continue with what it has not finished.
    """
    from muisti import bootstrap

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if tenants:
        _work_for_tenants(vault, stop, once=once, retry=retry, as_json=as_json)
        return
    with bootstrap.open(vault, role="worker") as memory:
        note_trust(memory)
        if retry:
            count = memory.retry_given_up()
            note(f"Retrying {count}." if count else "Nothing to retry.")
        if once:
            report, queue = memory.work(stop), memory.queue_status()
            done = asdict(report) | {"waiting": queue.waiting, "given_up": queue.given_up}
            if as_json:
                print_json(done)
            else:
                click.echo(", ".join(f"{name.replace('_', ' ')}: {n}" for name, n in done.items()))
            return
        note(f"Working for {memory.location}. Press Ctrl+C to stop.")
        due = DueWork(
            memory,
            resume=RESUME,
            embed=True,
            maintenance_after=MAINTENANCE_AFTER,
            maintenance_every=MAINTENANCE_EVERY,
        )
        memory.resume_extraction()
        memory.resume_embedding()
        last_error = ""
        while not stop.is_set():
            try:
                if find_database(vault) is None:
                    due.run()
                else:
                    for names in memory.watch_files(stop).batches(SETTLE, POLL):
                        due.run(changed=bool(names))
                        last_error = ""
            except (MuistiError, OSError) as error:  # a database that is down is waited for
                if str(error) != last_error:
                    log.warning("work in the background is postponed: %s", error)
                last_error = str(error)
            stop.wait(POLL)
    note("Stopped.")


def _work_for_tenants(
    store: str | None, stop: threading.Event, *, once: bool, retry: bool, as_json: bool
) -> None:
    """Work for all tenants until a signal comes, or until nothing is left."""
    address = find_database(store)
    if address is None:
        raise SettingsError("--tenants needs a database: --store postgresql://user@host/database")
    from muisti.bootstrap_tenants import TenantVaults
    from muisti.surfaces.tenant_work import Round, work_for_tenants

    vaults = TenantVaults(address)
    try:
        for number in vaults.find_tenants() if retry else ():
            memory = vaults.acquire(Access(number, "", "", "write"))
            memory.retry_given_up()
            vaults.release(memory)
        if not once:
            note(f"Working for the tenants of {vaults.name}. Press Ctrl+C to stop.")
        last_error = ""
        total = Round()
        while not stop.is_set():
            done = Round()
            try:
                done = work_for_tenants(vaults, stop, every=MAINTENANCE_EVERY)
                total = Round(*map(sum, zip(total, done, strict=True)))
                last_error = ""
            except MuistiError as error:  # a database that is down is waited for
                if once:
                    raise
                if str(error) != last_error:
                    log.warning("work in the background is postponed: %s", error)
                last_error = str(error)
            if once and not any(done):
                break
            stop.wait(0 if any(done) else RESUME)
    finally:
        vaults.close()
    if once and as_json:
        print_json(total._asdict())
    elif once:
        click.echo(", ".join(f"{name}: {count}" for name, count in total._asdict().items()))
    else:
        note("Stopped.")


COMMANDS = {"worker": worker}
