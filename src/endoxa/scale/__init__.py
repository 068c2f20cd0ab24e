"""The map over many queries on Spark, and tasks in processes of this machine."""
