"""Integrations with other toolkits. Each module needs the toolkit that it is named after."""
