"""How hard what comes next is: stages of a run, and levels over search worlds. Imports scenarios, grading and below."""
