import type { readdirSync, readFileSync } from 'node:fs'

/** What reads `/proc`: `node:fs`. */
interface ProcReader {
  readonly readdirSync: typeof readdirSync
  readonly readFileSync: typeof readFileSync
}

/** By what the processes of one start are recognised. */
interface Lineage {
  /** The process that was started, which leads its group: the guard. Its children lead groups and sessions: the radio. */
  readonly root: number
  /** Its start, clock ticks since boot. Nothing that it has started is older. */
  readonly sinceTicks: number
  /** An entry of the environment that it was given. */
  readonly entry: string
  /** The service: never one of them. */
  readonly self: number
}

/** A living process of one start, the one that was started included. */
export interface Descendant {
  readonly pid: number
  readonly parent: number
  /** It has left the process groups of the guard and the radio: a kill of these does not reach it. */
  readonly isOutside: boolean
  /** It does nothing, and starts nothing, until somebody lets it go on. */
  readonly isStopped: boolean
}

/**
 * Looks for all living processes of one start; the result is a function that is called for each look.
 *
 * A process belongs to it when its parent does, when one of them leads its session, or, if asked for `marked` ones, when
 * it carries the entry in its environment. What was found once is known until it is gone. Not found is a process that
 * has cleared its environment and left the session, and whose parent ended before anybody looked.
 *
 * Without `marked` nothing is read that could wait for another process: the kernel gives a process's environment only
 * when its memory is not being changed. The guard's thread runs this function from its text, so it uses nothing but
 * its parameters and the language.
 */
export function descendantsOf(
  fs: ProcReader,
  { root, sinceTicks, entry, self }: Lineage,
): (marked: boolean) => readonly Descendant[] {
  interface Process {
    readonly pid: number
    readonly parent: number
    readonly group: number
    readonly session: number
    readonly startTicks: number
    readonly isDead: boolean
    readonly isStopped: boolean
  }
  /** Starts of those that were found, by process id. */
  const known = new Map([[root, sinceTicks]])
  const groups = new Set([root])
  const read = (path: string): string => {
    try {
      return fs.readFileSync(path, 'latin1')
    } catch {
      return '' // gone, or not ours to look at
    }
  }
  const list = (path: string): readonly string[] => {
    try {
      return fs.readdirSync(path)
    } catch {
      return [] // gone meanwhile
    }
  }
  const processOf = (pid: number): Process => {
    const stat = read(`/proc/${pid}/stat`)
    // The name in parentheses may hold blanks and parentheses itself.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent, group, session] = fields
    // A zombie lives as long as one of its threads does.
    const isDead = 'ZXx'.includes(state) && list(`/proc/${pid}/task`).length < 2
    return {
      pid,
      parent: Number(parent),
      group: Number(group),
      session: Number(session),
      startTicks: Number(fields[19]),
      isDead,
      isStopped: 'Tt'.includes(state),
    }
  }
  const processes = (): ReadonlyMap<number, Process> => {
    const pids = list('/proc').map(Number)
    const found = pids.filter((pid) => pid > 1 && pid !== self).map(processOf)
    return new Map(found.filter(({ startTicks }) => startTicks >= sinceTicks).map((each) => [each.pid, each]))
  }
  const isKnown = (found: Process | undefined): boolean =>
    found !== undefined && known.get(found.pid) === found.startTicks
  const isMarked = (pid: number): boolean => `\0${read(`/proc/${pid}/environ`)}`.includes(`\0${entry}\0`)
  const learn = (all: ReadonlyMap<number, Process>, isNew: (each: Process) => boolean): void => {
    const found = [...all.values()].filter((each) => !isKnown(each) && isNew(each))
    for (const { pid, startTicks } of found) known.set(pid, startTicks)
    // Their children and sessions, until there are no more.
    if (found.length > 0) learn(all, (each) => isHeir(all, each))
  }
  const isHeir = (all: ReadonlyMap<number, Process>, { parent, session }: Process): boolean =>
    isKnown(all.get(parent)) || (known.has(session) && (!all.has(session) || isKnown(all.get(session))))
  return (marked) => {
    const all = processes()
    learn(all, (each) => isHeir(all, each))
    if (marked) learn(all, ({ pid }) => isMarked(pid))
    const living = [...all.values()].filter((each) => !each.isDead && isKnown(each))
    for (const { pid, parent } of living) if (parent === root) groups.add(pid)
    const needed = new Set([root, ...living.flatMap(({ pid, session }) => [pid, session])])
    for (const pid of known.keys()) if (!needed.has(pid)) known.delete(pid)
    return living.map(({ group, ...each }) => ({ ...each, isOutside: !groups.has(group) }))
  }
}

/**
 * Stops all that `look` finds, by `stop`, until nothing of it moves any more, and gives what it found last.
 *
 * A process that is killed between a look and its next start of another one leaves that behind without a parent. One that
 * is stopped starts nothing, and is still the parent of what it started while somebody looked. One that does not stop, in
 * the hands of the kernel or without a processor, is not waited for. The guard's thread runs this function from its text.
 */
export function stopAll(
  look: () => readonly Descendant[],
  stop: (pid: number) => void,
): readonly Descendant[] {
  const mostLooks = 5
  for (let looks = 1, quietLooks = 0; ; looks += 1) {
    const found = look()
    const moving = found.filter(({ isStopped }) => !isStopped)
    for (const { pid } of moving) stop(pid)
    quietLooks = moving.length === 0 ? quietLooks + 1 : 0
    // What one has started just before it was seen to stop is in the list of the next look.
    if (found.length === 0 || quietLooks === 2 || looks === mostLooks) return found
  }
}
