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
