"""The values of the audit: findings with their places, rules, acceptances."""
