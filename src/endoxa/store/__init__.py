"""The study database: tasks, people and answers. SQLite by default, PostgreSQL by URL."""
