"""The table of contents: every plug-in that ships, by kind and name. Adding one is one file and one line here."""

from __future__ import annotations

PLUGINS: dict[str, dict[str, str]] = {
    "worlds": {
        "service": "simtrain.worlds.service.spec:ServiceSpec",
    },
    "domains": {
        "mcp": "simtrain.domains.mcp:McpDomain",
    },
    "world_models": {
        "embedded": "simtrain.world_models.embedded:Embedded",
        "scripted": "simtrain.world_models.scripted:Scripted",
        "chat": "simtrain.world_models.chat:Chat",
        "replay": "simtrain.world_models.replay:Replay",
        "live": "simtrain.world_models.live:Live",
    },
    "perturbations": {
        "latency": "simtrain.perturbations.latency:Latency",
        "timeout_after": "simtrain.perturbations.timeout_after:TimeoutAfter",
        "partial_update": "simtrain.perturbations.partial_update:PartialUpdate",
        "transient_error": "simtrain.perturbations.transient_error:TransientError",
        "truncated_output": "simtrain.perturbations.truncated_output:TruncatedOutput",
        "dropped_tool": "simtrain.perturbations.dropped_tool:DroppedTool",
        "schema_drift": "simtrain.perturbations.schema_drift:SchemaDrift",
    },
    "paradigms": {
        "impersonation": "simtrain.paradigms.impersonation:Impersonation",
    },
    "graders": {
        "final_state": "simtrain.graders.final_state:FinalState",
        "answer": "simtrain.graders.answer:Answer",
        "forbidden": "simtrain.graders.forbidden:Forbidden",
        "tool_use": "simtrain.graders.tool_use:ToolUse",
        "abstention": "simtrain.graders.abstention:Abstention",
        "judge": "simtrain.graders.judge:Judge",
    },
    "exporters": {
        "openai": "simtrain.exporters.openai:OpenAI",
        "sharegpt": "simtrain.exporters.sharegpt:ShareGPT",
        "atif": "simtrain.exporters.atif:Atif",
        "steps": "simtrain.exporters.steps:Steps",
    },
    "agents": {
        "chat": "simtrain.agent.chat:ChatPolicy",
        "oracle": "simtrain.agent.oracle:Oracle",
        "wrong": "simtrain.agent.oracle:Wrong",
        "naive": "simtrain.agent.naive:Naive",
        "resilient": "simtrain.agent.resilient:Resilient",
        "nop": "simtrain.agent.simple:Nop",
        "claims_done": "simtrain.agent.simple:ClaimsDone",
        "abstain": "simtrain.agent.simple:AlwaysAbstain",
    },
    "transports": {
        "mcp": "simtrain.serving.transports:OverMcp",
        "mcp_in_process": "simtrain.serving.transports:InProcessMcp",
    },
    "argument_styles": {
        "plain": "simtrain.argument_styles.plain:plain",
        "pydantic": "simtrain.argument_styles.pydantic:pydantic",
        "jsonschema": "simtrain.argument_styles.jsonschema:jsonschema",
        "zod": "simtrain.argument_styles.zod:zod",
        "zod_coercing": "simtrain.argument_styles.zod_coercing:zod_coercing",
    },
    "handlers": {
        "free_windows": "simtrain.handlers.free_windows:free_windows",
        "memory_create_entities": "simtrain.handlers.memory:create_entities",
        "memory_create_relations": "simtrain.handlers.memory:create_relations",
        "memory_add_observations": "simtrain.handlers.memory:add_observations",
        "memory_delete_entities": "simtrain.handlers.memory:delete_entities",
        "memory_delete_observations": "simtrain.handlers.memory:delete_observations",
        "memory_delete_relations": "simtrain.handlers.memory:delete_relations",
        "memory_read_graph": "simtrain.handlers.memory:read_graph",
        "memory_search_nodes": "simtrain.handlers.memory:search_nodes",
        "memory_open_nodes": "simtrain.handlers.memory:open_nodes",
        "sequential_thinking": "simtrain.handlers.sequential_thinking:sequential_thinking",
        "time_get_current_time": "simtrain.handlers.time_server:get_current_time",
        "time_convert_time": "simtrain.handlers.time_server:convert_time",
        "append_note_blocks": "simtrain.handlers.note_pages:append_blocks",
        "create_note_page": "simtrain.handlers.note_pages:create_page",
        "export_note_page": "simtrain.handlers.note_pages:export_page",
        "meeting_times": "simtrain.handlers.meeting_times:meeting_times",
        "query_note_database": "simtrain.handlers.note_databases:query_database",
        "set_note_properties": "simtrain.handlers.note_databases:set_properties",
        "search_issues": "simtrain.handlers.search_issues:search_issues",
        "search_mail": "simtrain.handlers.search_mail:search_mail",
        "search_messages": "simtrain.handlers.search_messages:search_messages",
    },
}
"""Kind -> name -> `module:attribute`. Other packages add theirs by entry points in the group `simtrain.KIND`."""
