#!/usr/bin/env python3
"""What is in a run's event file, one "step tag value" per line: read_events.py RUN

Read by the tensorboard package: the one of PADA_TENSORBOARD_PYTHON, or of python3. Exit status 77 without it.
"""
import os
import sys

python = os.environ.get("PADA_TENSORBOARD_PYTHON")
if python and sys.executable != python and "PADA_EVENTS_AGAIN" not in os.environ:
    os.environ["PADA_EVENTS_AGAIN"] = "1"
    os.execv(python, [python, *sys.argv])
try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    print("read_events: skipped: no tensorboard", file=sys.stderr)
    sys.exit(77)

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0, "tensors": 0}, purge_orphaned_data=False)
events.Reload()
for tag in sorted(events.Tags()["scalars"]):
    for event in events.Scalars(tag):
        print(event.step, tag, event.value)
for tag in sorted(events.Tags()["histograms"]):
    for event in events.Histograms(tag):
        h = event.histogram_value
        print(event.step, tag, h.num, h.min, h.max, *h.bucket)
for tag in events.Tags()["tensors"]:
    plugin = events.SummaryMetadata(tag).plugin_data.plugin_name
    for event in events.Tensors(tag):
        print(event.step, tag, plugin, *(repr(text.decode()) for text in event.tensor_proto.string_val))
