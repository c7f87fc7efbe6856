"""What two runs say of each other: verdicts, comparisons, the published tables, and the proof that verdicts are right."""
