"""Where attention goes over several layers, and what changes when something is changed."""
