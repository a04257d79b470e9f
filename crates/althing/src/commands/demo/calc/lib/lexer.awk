# Splits an expression into tokens, one on each line.
{
    rest = $0
    while (rest != "") {
        if (match(rest, /^[0-9]+(\.[0-9]+)?/)) width = RLENGTH
        else width = 1
        token = substr(rest, 1, width)
        if (token !~ /^[ \t]$/) print token
        rest = substr(rest, width + 1)
    }
}
