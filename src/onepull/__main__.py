"""`python -m onepull` is the command `onepull`."""

from onepull.cli import main

if __name__ == "__main__":
    main(prog_name="onepull")
