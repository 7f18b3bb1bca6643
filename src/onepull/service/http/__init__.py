"""How requests come in and answers go out: protocol, routes, messages, errors and files."""
