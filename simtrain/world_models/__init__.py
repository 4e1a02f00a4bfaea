"""World models, which answer tool calls, one file each; domains/ defines how calls and replies are written. Imports worlds and below."""
