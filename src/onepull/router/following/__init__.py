"""How a router follows its log while it runs."""
