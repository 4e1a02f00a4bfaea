"""What people look at in a browser. Imports public and below."""
