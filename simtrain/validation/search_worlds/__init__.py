"""Audits of search worlds beyond their pages: questions, guessing, names, likeness to other worlds."""
