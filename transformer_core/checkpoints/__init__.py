"""Model weights in our checkpoint folders, in Hugging Face folders, and on the Hugging Face Hub."""
