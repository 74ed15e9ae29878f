"""Compiled programs at work: each line, the heads that it became, and a trained model beside them."""
