"""Point-to-point measurements between hosts: agents, schedule, judgement, page.

`stretto.files.net` has the types: `NetHost`, `Streams`, `Latency`. `measure` fills them, `judge`
turns them into findings, and `show` is the one renderer of both.
"""
