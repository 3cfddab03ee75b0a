"""muisti inside of other programs' toolkits. Each module needs the toolkit that it is named for, and nothing else does."""
