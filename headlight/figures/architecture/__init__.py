"""What the Architecture page draws."""
