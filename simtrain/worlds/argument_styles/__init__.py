"""How servers check arguments and word what is wrong with them, one file for each library."""
