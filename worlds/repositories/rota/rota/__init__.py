"""Decides what runs when."""

from rota.calendars import Calendar, Hours
from rota.cron import Cron
from rota.durations import format_duration, parse_duration
from rota.errors import CronError, CycleError, DurationError, JobError, PoolError, RotaError
from rota.graph import Graph
from rota.jobs import Job, Retry
from rota.pools import Pool
from rota.reports import Report
from rota.scheduler import Run, Scheduler
from rota.triggers import At, CronTrigger, Every, WorkingHours

__all__ = [
    "At",
    "Calendar",
    "Cron",
    "CronError",
    "CronTrigger",
    "CycleError",
    "DurationError",
    "Every",
    "Graph",
    "Hours",
    "Job",
    "JobError",
    "Pool",
    "PoolError",
    "Report",
    "Retry",
    "RotaError",
    "Run",
    "Scheduler",
    "WorkingHours",
    "format_duration",
    "parse_duration",
]
