"""Words for pictures: how well they are predicted from regions, by which segmentation and features."""
