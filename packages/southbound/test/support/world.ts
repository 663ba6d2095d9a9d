import { readFileSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fakeClock, type TempDir, tempDir } from '@steeple/testkit'
import type { ApplyOptions } from '../../src/config-set/apply.ts'
import type { Daemon } from '../../src/config-set/daemon.ts'
import { engineAt } from '../../src/engine/engine.ts'
import { type StandInEngine, startEngine } from './stand-in-engine.ts'

/** A container settles within two looks; what is well is well at once, and on a busy machine a little later. */
export const LIMITS = { stopTimeoutS: 1, settleMs: 15, healthMs: 5_000, pollMs: 5 }

/** The daemons of a small core; smf keeps stale sessions when mme restarts. */
export const DAEMONS: readonly Daemon[] = [
  { name: 'upf', files: ['upf.yaml'], container: 'c-upf', drops: 'all' },
  {
    name: 'smf',
    files: ['smf.yaml', 'freediameter/smf.conf'],
    container: 'c-smf',
    drops: 'all',
    restartsAfter: ['mme'],
  },
  { name: 'hss', files: ['hss.yaml'], container: 'c-hss', drops: 'none' },
  { name: 'mme', files: ['mme.yaml'], container: 'c-mme', drops: 'lte' },
]

/** A configuration directory, containers that read it when they start, and an engine. */
export interface World extends AsyncDisposable {
  readonly root: TempDir
  readonly dir: string
  readonly copiesDir: string
  readonly originalsDir: string
  readonly engine: StandInEngine
  /** What each daemon has read at its last start: path → content. */
  readonly running: Map<string, ReadonlyMap<string, string>>
  options(files: ReadonlyMap<string, string>, more?: Partial<ApplyOptions>): ApplyOptions
  /** The content of a file in the directory. */
  read(path: string): Promise<string>
  close(): Promise<void>
}

/** Files of the core in a version; a daemon whose file says `bad` does not start. */
export function filesOf(
  version: string,
  changed: Readonly<Record<string, string>> = {},
): ReadonlyMap<string, string> {
  const paths = DAEMONS.flatMap(({ files }) => files)
  return new Map([
    ...paths.map((path): [string, string] => [path, `# ${path}\nversion: ${version}\n`]),
    ...Object.entries(changed),
  ])
}

export async function makeWorld(): Promise<World> {
  const root = await tempDir()
  const dir = join(root.path, 'config')
  const copiesDir = join(root.path, 'copies')
  const originalsDir = join(root.path, 'originals')
  await mkdir(dir)
  const engine = await startEngine()
  const running = new Map<string, ReadonlyMap<string, string>>()
  for (const { name, files, container = '' } of DAEMONS)
    engine.add(container, () => {
      const seen = new Map<string, string>()
      for (const path of files) {
        try {
          seen.set(path, readFileSync(join(dir, path), 'utf8'))
        } catch {
          return { exitCode: 255, log: `ERROR: cannot open ${path}` }
        }
      }
      const bad = [...seen.values()].find((content) => content.includes('bad'))
      if (bad !== undefined)
        return { exitCode: 0, log: `ERROR: invalid value in '${name}.yaml' k=${'ab'.repeat(16)}` }
      running.set(name, seen)
      return { log: `INFO: ${name} is up` }
    })
  const clock = fakeClock()
  return {
    root,
    dir,
    copiesDir,
    originalsDir,
    engine,
    running,
    options: (files, more = {}) => ({
      dir,
      copiesDir,
      originalsDir,
      files,
      daemons: DAEMONS,
      engine: engineAt(engine.socket, { answerMs: 3_000 }),
      clock,
      limits: LIMITS,
      ...more,
    }),
    read: (path) => readFile(join(dir, path), 'utf8'),
    async [Symbol.asyncDispose](this: World) {
      await this.close()
    },
    close: async () => {
      await engine.close()
      await root.remove()
    },
  }
}

/** Runs `work` in a world of its own. */
export async function inWorld(work: (world: World) => Promise<void>): Promise<void> {
  await using world = await makeWorld()
  await work(world)
}
