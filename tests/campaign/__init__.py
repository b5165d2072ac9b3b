"""A campaign of bad luck: what the plugin promises to survive, tried case by case."""
