"""Structured logs: one JSON object (or one readable line) an event, also for kopf's and other libraries' records."""

import logging
import sys

import structlog
from structlog.types import Processor


def configure(level: str, style: str) -> None:
    """Set up logging to standard error. `level` is debug, info, warning or error; `style` is json or console."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    last: list[Processor] = (
        [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer(default=str)]
        if style == "json"
        else [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # kopf tells of every step of its watches; only its troubles matter here.
    logging.getLogger("kopf").setLevel(max(logging.WARNING, root.level))
