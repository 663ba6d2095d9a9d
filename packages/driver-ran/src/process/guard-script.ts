import { type RadioCommand, radioMark } from './radio-command.ts'

/** What runs the guard. Without its start files: it reads those of a shell that a network connection feeds otherwise. */
export const GUARD_SHELL: readonly string[] = ['/bin/bash', '--norc', '--noprofile', '-c']
/** The guard's line to the service, on file descriptor 3. It answers each line with another one. */
export const RADIO_LINE: RegExp = /^radio (\d+)$/
/** The service's sign of life. */
export const BEAT = 'beat\n'

/**
 * The process between the service and the radio: it starts the radio, holds the lease, and ends with the radio's exit code.
 *
 * - It dies with the service, whatever state it is in, and the radio dies with it: each is told by the kernel
 *   (`--pdeathsig KILL`), and looks whether its parent has died before that was set.
 * - A service that is stopped, that hangs or has closed its end lets the lease run out: the radio is killed.
 * - Two processes hold on to it: one waits for the radio, one reads the signs of life. When one is killed the other kills.
 * - With the radio whatever carries its mark in its environment is killed. While the service lives it does that itself.
 *
 * `$0` is the service's process id; `$1` the mark, `$2` the lease in seconds, then the program with its arguments.
 * Bash, for `read -t` and `wait -n`.
 */
const GUARD_SCRIPT = `
[ "$PPID" = "$0" ] || exit 125
umask 077
mark=$1 lease=$2
shift 2
trap : TERM INT HUP PIPE
setsid setpriv --pdeathsig KILL -- /bin/sh -c '[ "$PPID" = "$0" ] || exit 125; exec "$@"' "$$" "$@" <&0 3>&- &
radio=$!
exec </dev/null >/dev/null 2>&1
keep() {
  trap '' TERM INT HUP PIPE
  printf 'radio %d\\n' "$radio" >&3
  while IFS= read -r -t "$lease" -u 3 line; do printf 'held\\n' >&3; done
  kill -KILL -- "-$radio" "$radio"
}
keep &
keeper=$!
exec 3>&-
while kill -0 "$radio" && kill -0 "$keeper"; do wait -n "$radio" "$keeper"; done
if kill -0 "$keeper"; then
  kill -KILL "$keeper"
else
  kill -KILL -- "-$radio" "$radio"
  for file in /proc/[0-9]*/environ; do
    pid=\${file//[!0-9]/}
    [ "$pid" = "$$" ] && continue
    while IFS= read -r -d '' entry; do
      [ "$entry" = "$mark" ] && kill -KILL "$pid" && break
    done < "$file"
  done
fi
wait "$keeper"
wait "$radio"
exit $?
`

/** File and arguments of the guard with its radio, killed by the kernel as soon as process `parent` is gone. */
export function guardedArguments(command: RadioCommand, parent: number): readonly string[] {
  return [
    '--pdeathsig',
    'KILL',
    '--',
    ...GUARD_SHELL,
    GUARD_SCRIPT,
    String(parent),
    radioMark(command.directory),
    String(command.leaseMs / 1_000),
    command.binary,
    ...command.args,
  ]
}
