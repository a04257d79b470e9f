# Prints a value with at most six decimals, or what went wrong.
/^error/ {
    print
    failed = 1
    next
}

{
    text = sprintf("%.6f", $0)
    sub(/\.?0+$/, "", text)
    print text == "-0" ? "0" : text
}

END { exit failed }
