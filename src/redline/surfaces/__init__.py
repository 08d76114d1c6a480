"""What people look at. Each surface draws rows and sends back prompts and answers; none reads events."""
