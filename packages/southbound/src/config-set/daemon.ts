/** Whose subscribers lose their connection when a daemon restarts. */
export type Drops = 'lte' | 'nr' | 'all' | 'none'

/** One program of a core. The order of a list of them is the order of their restarts. */
export interface Daemon {
  /** Its role: `mme`, `smf`; also its key in `<core>.containers`. */
  readonly name: string
  /** Files it reads, relative to the configuration directory. A file may belong to several. */
  readonly files: readonly string[]
  /** The container it runs in; undefined when nobody told. Several may share one. */
  readonly container: string | undefined
  readonly drops: Drops
  /** It restarts, after them, whenever one of these does: a core's other daemons can keep what is stale then. */
  readonly restartsAfter?: readonly string[]
}

/** A daemon that has to restart, and why. */
export interface Restart {
  readonly daemon: Daemon
  readonly reason: string
}

/**
 * Everything that restarts when the daemons of `reasons` (name → why) have to: those that share a container with one
 * and those that restart after one, too. In the order of their restarts: the order of `daemons`, but each one behind
 * those that it restarts after.
 */
export function restartsOf(
  daemons: readonly Daemon[],
  reasons: ReadonlyMap<string, string>,
): readonly Restart[] {
  const all = new Map(reasons)
  for (let known = -1; known !== all.size; ) {
    known = all.size
    for (const daemon of daemons) {
      const reason = all.has(daemon.name) ? undefined : followed(daemon, daemons, all)
      if (reason !== undefined) all.set(daemon.name, reason)
    }
  }
  const restarting = daemons.filter(({ name }) => all.has(name))
  return ordered(restarting).map((daemon) => ({ daemon, reason: all.get(daemon.name) ?? '' }))
}

function followed(
  daemon: Daemon,
  daemons: readonly Daemon[],
  restarting: ReadonlyMap<string, string>,
): string | undefined {
  const leader = daemon.restartsAfter?.find((name) => restarting.has(name))
  if (leader !== undefined) return `${leader} restarts, which leaves stale sessions behind`
  if (daemon.container === undefined) return undefined
  const mate = daemons.find(({ name, container }) => container === daemon.container && restarting.has(name))
  return mate === undefined ? undefined : `it shares the container ${daemon.container} with ${mate.name}`
}

/** Moves each daemon behind those that it restarts after; daemons that wait for each other keep their order. */
function ordered(restarting: readonly Daemon[]): readonly Daemon[] {
  const waiting = [...restarting]
  const done: Daemon[] = []
  while (waiting.length > 0) {
    const at = waiting.findIndex(
      ({ name, restartsAfter = [] }) =>
        !waiting.some((other) => other.name !== name && restartsAfter.includes(other.name)),
    )
    done.push(...waiting.splice(Math.max(0, at), 1))
  }
  return done
}

/** Whose subscribers drop when all of these restart. */
export function dropsOf(daemons: readonly Daemon[]): Drops {
  const kinds = new Set(daemons.map(({ drops }) => drops))
  kinds.delete('none')
  if (kinds.size > 1) return 'all'
  const [only = 'none'] = kinds
  return only
}

/** A configuration set as it ought to be: path relative to `dir` → content, and who reads what. */
export interface ConfigSet {
  readonly dir: string
  readonly files: ReadonlyMap<string, string>
  /** In the order of their restarts. */
  readonly daemons: readonly Daemon[]
}
