"""The terminal of a machine: keys are typed, a shell reads them, and a screen shows what a person would see."""
