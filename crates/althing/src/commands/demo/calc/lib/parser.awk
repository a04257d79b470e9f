# Reads the tokens of an expression, one on each line, and prints its value.
{ token[++count] = $0 }

END {
    at = 1
    value = expression(0)
    if (error == "" && at <= count) error = "cannot read " token[at]
    print error == "" ? value : "error: " error
}

# How strongly a sign binds.
function rank(sign) {
    if (sign == "+" || sign == "-") return 1
    if (sign == "*" || sign == "/") return 2
    return 0
}

function expression(least, value, sign) {
    value = factor()
    while (rank(token[at]) > least) {
        sign = token[at++]
        value = apply(sign, value, expression(rank(sign)))
    }
    return value
}

function factor(value) {
    value = token[at++]
    if (value == "-") return -factor()
    if (value == "(") {
        value = expression(0)
        if (token[at++] != ")") error = "a bracket is not closed"
        return value
    }
    if (value !~ /^[0-9]/) error = value == "" ? "something is missing" : "cannot read " value
    return value + 0
}

function apply(sign, left, right) {
    if (sign == "+") return left + right
    if (sign == "-") return left - right
    if (sign == "*") return left * right
    if (right == 0) {
        error = "division by zero"
        return 0
    }
    return left / right
}
