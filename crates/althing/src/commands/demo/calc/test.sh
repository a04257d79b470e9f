#!/bin/sh
# Calls calc and compares what it prints with what it should.
cd "$(dirname "$0")" || exit 1
failed=0
is() {
    got=$(sh ./calc "$1")
    if [ "$got" = "$2" ]; then
        echo "ok    $1 = $2"
    else
        echo "FAILS $1 = $got, should be $2"
        failed=1
    fi
}
is '2 + 3 * 4' 14
is '(2 + 3) * 4' 20
is '10 / 4' 2.5
is '2 - 3 - 4' -5
is '-(1.5 + 1.5)' -3
is '1 / 0' 'error: division by zero'
is '2 * (3' 'error: a bracket is not closed'
is '2 + x' 'error: cannot read x'
exit $failed
