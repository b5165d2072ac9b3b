"""The model judge: it decides by a rubric whether one field of an answer is right.

It is asked through the model clients of the reference agents, its judgements are kept, and it is
held against people's labels before a gate may rest on it.
"""
