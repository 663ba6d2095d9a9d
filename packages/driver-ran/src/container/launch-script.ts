import type { RadioCommand } from '../process/guard-script.ts'

/** Name of the script in the radio's directory: the one argument of the container's shell. */
export const LAUNCH_SCRIPT = 'launch.sh'
/** What the script says when it waits for the gate. */
export const READY_LINE = 'steeple: ready'
/** The driver's commands to it, one a line. Without any for the length of the lease the script kills the radio. */
export const LAUNCH_COMMANDS = {
  go: 'go\n',
  beat: 'beat\n',
  urgent: 'stop\n',
  orderly: 'close\n',
  now: 'kill\n',
} as const
/**
 * What the container runs: it starts the radio when the driver says so, and kills it when the driver says nothing.
 *
 * Its input is the driver's alone. The end of the input (the service is dead) and a lease without a line (its event loop
 * does not turn, it is stopped, or the engine has lost it) kill the radio at once. As it is the container's first process, its own
 * end ends everything in there. It is Bash: other shells have no `read -t`. Lines that it does not know are dropped: some
 * engines put the body of the request before the input.
 */
export function launchScript(command: RadioCommand): string {
  const program = [command.binary, ...command.args].map(quoted).join(' ')
  const mute = command.program === 'srsenb' ? `printf 'cell_gain %d -200\\n' ${command.cellId} >&3` : ':'
  return `#!/bin/bash
umask 077
trap '' PIPE
wait_quiet() { IFS= read -r -t ${command.leaseMs / 1_000} line; }
printf '%s\\n' '${READY_LINE}'
while wait_quiet; do
  case $line in
    go) break ;;
    stop | close | kill) exit 0 ;;
  esac
done
[ "$line" = go ] || exit 0
exec 3> >(exec ${program})
radio=$!
end() {
  ${mute}
  exec 3>&-
  kill -TERM "$radio"
  for ((turn = 0; turn < $1; turn++)); do
    kill -0 "$radio" || break
    IFS= read -r -t 0.1 line
    [ "$line" = kill ] && break
    [ "$line" = stop ] && (($1 > 2)) && break
  done
} 2>/dev/null
while wait_quiet; do
  case $line in
    beat) kill -0 "$radio" 2>/dev/null || break ;;
    stop) end 2; break ;;
    close) end 35; break ;;
    kill) break ;;
  esac
done
kill -KILL "$radio" 2>/dev/null
wait "$radio" 2>/dev/null
exit $?
`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
