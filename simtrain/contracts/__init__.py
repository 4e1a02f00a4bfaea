"""One file per contract: the interface that members of the plural folder implement. Imports files, values and the plug-in table."""
