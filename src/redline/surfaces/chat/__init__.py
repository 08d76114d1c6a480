"""What all chat platforms share: parts made from rows, one paginator, one outbox, one desk for sessions."""
