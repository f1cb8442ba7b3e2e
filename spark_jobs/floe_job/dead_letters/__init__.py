"""Dead letters: records that cannot become rows, kept whole in a table or a topic, logged, and bounded in number."""
