"""The verbs: one file each. Only here does input become tables; everything below takes and gives tables."""
