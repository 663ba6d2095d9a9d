import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../launch.ts'

/** The pages of the console are compressed as far as it goes where somebody loads them. */
const LIGHTLY = { STEEPLE_LIGHTLY: 'yes' }

/** How a program ended: its exit code, and all that it wrote. */
export interface Ended {
  readonly code: number | null
  readonly said: string
}

/** A build of this checkout, in a folder. */
export interface Build {
  readonly folder: string
  /** Its `svc`. */
  readonly program: string
}

/** Makes a build in `folder`; `flags` as of `npm run build`. Throws what it said when it did not become one. */
export async function makeBuild(folder: string, flags: readonly string[]): Promise<Build> {
  const { code, said } = await tryBuild(folder, flags)
  if (code !== 0) throw new Error(`no build (${code}):\n${said}`)
  return { folder, program: join(folder, 'bin/svc') }
}

/**
 * As `makeBuild`, by somebody else: the checkout lies at `place`, the time zone and the language are others, and what is made is
 * theirs alone. Needs the right to mount,
 * in a namespace of its own.
 */
export async function makeBuildElsewhere(
  place: string,
  folder: string,
  flags: readonly string[],
): Promise<Build> {
  mkdirSync(place, { recursive: true })
  const mounted = 'umask 077 && mount --bind "$1" "$2" && shift 2 && exec "$@"'
  const script = join(place, 'scripts/builds/make.mjs')
  const args = ['-rm', 'sh', '-c', mounted, 'sh', ROOT, place, process.execPath, script, '--out', folder]
  const env = { ...process.env, ...LIGHTLY, TZ: 'Asia/Tokyo', LANG: 'C', LC_ALL: 'C' }
  const { code, said } = await run('unshare', [...args, ...flags], env)
  if (code !== 0) throw new Error(`no build (${code}):\n${said}`)
  return { folder, program: join(folder, 'bin/svc') }
}

/** As `makeBuild`, and says how it ended. */
export function tryBuild(folder: string, flags: readonly string[]): Promise<Ended> {
  const script = join(ROOT, 'scripts/builds/make.mjs')
  return run(process.execPath, [script, '--out', folder, ...flags], { ...process.env, ...LIGHTLY })
}

/** Runs a program to its end. */
export function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        said += chunk
      })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, said }))
  })
}

/** As packages are released, and as far as they are packed where they are only tried. */
type Level = 6 | 1

/**
 * Makes packages of a build; gives their files in the order of the kinds. Throws what was said when one was not made. `umask` is that of
 * who makes them. They are packed lightly: two thirds of the time that it takes goes into making them smaller.
 */
export async function makePackages(
  from: string,
  out: string,
  kinds: readonly string[],
  umask = '022',
  level: Level = 1,
): Promise<readonly string[]> {
  const script = join(ROOT, 'scripts/builds/pack.mjs')
  const args = [script, kinds.join(','), '--from', from, '--out', out]
  // What is released is packed without a word of it.
  if (level !== 6) args.push('--level', String(level))
  const own = ['-c', `umask ${umask} && exec "$@"`, 'sh', process.execPath]
  const { code, said } = await run('sh', [...own, ...args], process.env)
  if (code !== 0) throw new Error(`no package (${code}):\n${said}`)
  return said.trim().split('\n')
}
