"""The only room that knows pytest: options, collection, fixtures, transport, summary, gate."""
