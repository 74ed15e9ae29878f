"""The knowledge test before and after the Tour: its entries in the contents, its form, and its results."""
