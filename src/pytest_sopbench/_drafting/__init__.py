"""A domain drafted with a model: it writes texts and policies, and never a label.

Two policies are written blind to each other. Labels come from running one of them if both agree,
a blind solver answers the rows, and people decide what is left open.
"""
