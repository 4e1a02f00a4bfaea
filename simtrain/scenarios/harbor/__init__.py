"""Harbor folders as scenarios: what a task.toml says, the world of its Dockerfile, its tests as the rubric."""
