"""What real servers once said: recordings, the sessions in them, and how they are answered from again."""
