"""Five ways to find personal data in a session, behind one protocol."""
