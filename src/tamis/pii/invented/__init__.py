"""The parts that synthetic sessions are put together from: people, their data, problems, lines and voices."""
