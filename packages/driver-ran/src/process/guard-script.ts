import type { Duplex } from 'node:stream'

/** How one radio is started. */
export interface RadioCommand {
  readonly program: 'srsenb' | 'gnb'
  readonly binary: string
  readonly args: readonly string[]
  /** The private directory with its files: its working directory. */
  readonly directory: string
  /** Cell id of srsenb's console. */
  readonly cellId: number
  /** The radio is killed when the service has not shown for so long that it is alive. */
  readonly leaseMs: number
}

/** Where the launcher and its tools are looked up; the service's own environment, with its secrets, is not passed on. */
const TOOL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The environment entry by which a radio of that directory is recognised, whatever its program is. */
export function radioMark(directory: string): string {
  return `STEEPLE_RADIO=${directory}`
}

/** The whole environment of a radio. */
export function radioEnvironment(directory: string): Readonly<Record<string, string>> {
  return { PATH: TOOL_PATH, HOME: directory, LC_ALL: 'C', STEEPLE_RADIO: directory }
}

/** The program that sets the parent-death signal (util-linux). */
export const LAUNCHER = 'setpriv'

/** What runs the guard. Without its start files: it reads those of a shell that a network connection feeds otherwise. */
export const GUARD_SHELL: readonly string[] = ['/bin/bash', '--norc', '--noprofile', '-c']
/** The guard's line to the service, on file descriptor 3. It answers each line with another one. */
const RADIO_LINE: RegExp = /^radio (\d+)$/
/** The service's sign of life. */
const BEAT = 'beat\n'

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

/** A sign of life goes out this often at least, ms. */
const RENEW_MS = 500

/** Told of what the guard of a radio says. */
interface LeaseListener {
  /** The radio's own process id. */
  radio(pid: number): void
  /** The guard has not answered for the whole of a lease: it would not end the radio either. */
  lost(): void
}

/** How long after a renewal the next one follows, ms: four fit into a lease. */
export function renewalMs(leaseMs: number): number {
  return Math.min(RENEW_MS, leaseMs / 4)
}

/** Renews the lease of a guard from the event loop until the function that it returns is called. */
export function renewLease(guard: Duplex, leaseMs: number, listener: LeaseListener): () => void {
  let unansweredMs: number | undefined
  let text = ''
  const beat = (): void => {
    const nowMs = performance.now()
    if (unansweredMs !== undefined && nowMs - unansweredMs > leaseMs) {
      listener.lost()
      return
    }
    unansweredMs ??= nowMs
    guard.write(BEAT)
  }
  guard.on('error', () => undefined) // the guard's end says it
  guard.on('data', (chunk: Buffer) => {
    unansweredMs = undefined
    text += chunk.toString('latin1')
    const lines = text.split('\n')
    text = lines.pop()?.slice(0, 64) ?? ''
    for (const line of lines) {
      const pid = RADIO_LINE.exec(line)?.[1]
      if (pid !== undefined) listener.radio(Number(pid))
    }
  })
  beat()
  const renewal = setInterval(beat, renewalMs(leaseMs)).unref()
  return () => {
    clearInterval(renewal)
    guard.destroy()
  }
}
