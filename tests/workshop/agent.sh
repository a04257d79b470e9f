#!/bin/sh
# An agent that does what its task's key says: `KIND-NAME`. Its work is the file `out/KEY.txt`.
key=$1
kind=${key%%-*}
tries="$SCRATCH/$key.tries"
echo x >>"$tries"
try=$(wc -l <"$tries")
work() { mkdir -p out && echo "$key by $ALTHING_AGENT" >"out/$key.txt"; }
usage() { echo "{\"usage\":{\"input_tokens\":$1,\"output_tokens\":$2,\"cost_usd\":\"0.01\"}}"; }
echo "begins $key"
case $kind in
  work) work; usage 100 20 ;;
  commit) work; git add -A; git -c user.name=a -c user.email=a@a commit -qm "$key" ;;
  # Says that it is done, and has done nothing the first time.
  lie) [ "$try" -gt 1 ] && work ;;
  never) mkdir -p out && echo "half of $key" >"out/$key.half" ;;
  # Hands its work in by itself, as soon as anything is there.
  hand) [ "$try" -gt 1 ] && work; echo "$key" >note.txt
    "$ALTHING" checkpoint "$key" --file note.txt --final; "$ALTHING" signal complete ;;
  # Says that it is done with every way that it has, and asks whether it may end.
  done) work; mkdir -p out
    "$ALTHING" done >"out/$key.done" 2>&1
    echo '{"session_id":"s","cwd":"."}' | "$ALTHING" hook stop --agent claude >"out/$key.stop" ;;
  # Changes a file that it may not change, the first time.
  outside) work; if [ "$try" -eq 1 ]; then echo mine >elsewhere.txt; else rm -f elsewhere.txt; fi ;;
  # All of these change the same line, late ones when they may. Conflicts are resolved by keeping both.
  line|late)
    [ "$kind" = line ] || until [ -e "$SCRATCH/go" ]; do sleep 0.05; done
    if grep -q '^<<<<<<<' shared.txt; then
      grep -v '^<<<<<<<\|^=======\|^>>>>>>>' shared.txt >shared.new && mv shared.new shared.txt
    else
      echo "$key" >>shared.txt
    fi ;;
  # Each is good alone, and the check fails if both are there.
  either)
    if [ "$try" -gt 1 ] || ! ls out/either-*.txt >/dev/null 2>&1; then
      if [ "$try" -gt 1 ]; then mkdir -p out; echo "$key" >"out/other-$key.txt"; rm -f "out/$key.txt"; else work; fi
    else work; fi ;;
  # Commits its conflict markers the first time.
  marks)
    printf '<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n' >marks.txt
    [ "$try" -gt 1 ] && echo resolved >marks.txt
    git add -A; git -c user.name=a -c user.email=a@a commit -qm "$key" ;;
  # Moves the branch of the run to work that nobody looked at.
  move)
    work; git add -A; git -c user.name=a -c user.email=a@a commit -qm evil
    for branch in $(git for-each-ref --format='%(refname)' 'refs/heads/althing/*/_merged'); do
      git update-ref "$branch" HEAD
    done
    exit 3 ;;
  # Waits until it may go on.
  slow) until [ -e "$SCRATCH/go" ]; do sleep 0.05; done; work ;;
  hang) echo $$ >"$SCRATCH/$key.pid"; usage 50 5; sleep 600 ;;
  crash) if [ "$try" -eq 1 ]; then kill -9 $$; fi; work ;;
  fail) echo "it cannot be done" >&2; exit 3 ;;
  env) mkdir -p out; env | grep '^ALTHING_' | sort >"out/$key.txt"; cat >"out/$key.brief" ;;
esac
echo "says that $key is done"
