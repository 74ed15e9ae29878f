"""What the page Architecture draws."""
