"""`python -m simtrain`."""

from simtrain.cli import main

if __name__ == "__main__":
    main()
