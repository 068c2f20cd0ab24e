"""Studies in the browser: pages for judges, participants and the organiser, and the JSON that they speak."""
