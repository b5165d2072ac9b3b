"""The block of a domain in the summary: rates, fields, rules, trials, consumption."""
