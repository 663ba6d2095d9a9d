import { once } from 'node:events'
import { applyConfigSet } from '../../src/config-set/apply.ts'
import { engineAt } from '../../src/engine/engine.ts'
import { DAEMONS, filesOf, LIMITS } from './world.ts'

/** Applies one version in a process of its own, which a test kills: says `ready`, waits for a byte, applies. */
const [dir = '', copiesDir = '', socket = '', version = '', bad = ''] = process.argv.slice(2)
process.stdout.write('ready\n')
await once(process.stdin, 'data')
await applyConfigSet(
  {
    dir,
    copiesDir,
    originalsDir: `${copiesDir}-originals`,
    files: filesOf(version, bad === '' ? {} : { [bad]: 'bad\n' }),
    daemons: DAEMONS,
    engine: engineAt(socket),
    clock: { nowMs: () => Number(version) * 1000, monotonicMs: () => 0 },
    limits: LIMITS,
  },
  new AbortController().signal,
).catch(() => undefined)
process.exit(0)
