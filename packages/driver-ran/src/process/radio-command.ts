/** How one radio is started. */
export interface RadioCommand {
  readonly program: 'srsenb' | 'gnb'
  readonly binary: string
  readonly args: readonly string[]
  /** The private directory with its files: its working directory. */
  readonly directory: string
  /** Cell id of srsenb's console. */
  readonly cellId: number
}

/** Where the launcher and its tools are looked up; the service's own environment, with its secrets, is not passed on. */
const TOOL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Ends at once when the service died before the parent-death signal was set (then its parent is another process by now);
 * otherwise becomes the program. `$0` is the service's process id.
 */
const BECOME_PROGRAM = '[ "$PPID" = "$0" ] || exit 125; umask 077; exec "$@"'

/** The environment entry by which a radio of that directory is recognised, whatever its program is. */
export function radioMark(directory: string): string {
  return `STEEPLE_RADIO=${directory}`
}

/** The whole environment of a radio. */
export function radioEnvironment(directory: string): Readonly<Record<string, string>> {
  return { PATH: TOOL_PATH, HOME: directory, LC_ALL: 'C', STEEPLE_RADIO: directory }
}

/** File and arguments that become the program, killed by the kernel as soon as process `parent` is gone. */
export function launchArguments(command: RadioCommand, parent: number): readonly string[] {
  return [
    '--pdeathsig',
    'KILL',
    '--',
    '/bin/sh',
    '-c',
    BECOME_PROGRAM,
    String(parent),
    command.binary,
    ...command.args,
  ]
}

/** The program that sets the parent-death signal (util-linux). */
export const LAUNCHER = 'setpriv'
