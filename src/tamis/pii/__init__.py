"""MathEd-PII: find the person in tutoring chat, and keep the maths."""
