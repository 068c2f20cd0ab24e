"""Interactive search: a person marks pictures, a learner refines the next page. Pure: arrays and events, no files."""
