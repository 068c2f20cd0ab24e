"""The study application: pages for judges, participants and the organiser, and their JSON API."""
