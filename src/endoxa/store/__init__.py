"""The study database: what is asked, who is asked, what they said. SQLite by default, PostgreSQL by URL."""
