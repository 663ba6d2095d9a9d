import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../launch.ts'
import { makeOutsidePlugin, type OutsidePlugin } from '../upgrade/outside-plugin.ts'
import { run } from './make-build.ts'

const CACHE = join(homedir(), '.cache', 'steeple-test', 'releases')
/** The package whose version is that of a release. */
const VERSIONED = 'packages/cli/package.json'
/** What a release needs to be made a package of. */
const PACKER = 'scripts/builds/pack.mjs'
/** Beside the packages: what believes whoever signed the plugin. */
const TRUST = 'plugin.trust'
const PNPM = join(ROOT, `tools/node_modules/@pnpm/exe.linux-${process.arch}/pnpm`)

/** A release of before, as its users have it. */
export interface Release {
  readonly version: string
  readonly commit: string
  /** Its Debian package, with all parts. */
  readonly deb: string
  /** What somebody outside made with it. */
  readonly plugin: OutsidePlugin
}

/**
 * The last release: the newest commit before this one that gave the command its version. Its package, and a plugin
 * of somebody outside, are made by its own scripts, in a clone, and kept by its commit. Throws what failed.
 */
export async function lastRelease(): Promise<Release> {
  const { commit, version } = await findRelease()
  const kept = join(CACHE, `${commit}-${process.arch}-and-plugin`)
  if (!existsSync(kept)) await packInto(kept, commit)
  const ending = (end: string): string => {
    const file = readdirSync(kept).find((name) => name.endsWith(end))
    if (file === undefined) throw new Error(`there is no ${end} in ${kept}`)
    return join(kept, file)
  }
  const trust = readFileSync(join(kept, TRUST), 'utf8')
  return { commit, version, deb: ending('.deb'), plugin: { file: ending('.tgz'), trust } }
}

async function findRelease(): Promise<Pick<Release, 'commit' | 'version'>> {
  const head = (await git('rev-parse', 'HEAD')).trim()
  const changed = (await git('log', '--format=%H', '-G"version":', '--', VERSIONED)).trim().split('\n')
  const packed: string[] = []
  for (const commit of changed) if ((await git('ls-tree', commit, PACKER)) !== '') packed.push(commit)
  // A commit that is itself a release is upgraded to from the one before, and the very first from itself.
  const commit = packed.find((one) => one !== head) ?? packed[0]
  if (commit === undefined)
    throw new Error(`the history of this clone has no commit that gave ${VERSIONED} its version`)
  return { commit, version: JSON.parse(await git('show', `${commit}:${VERSIONED}`)).version }
}

async function packInto(kept: string, commit: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'steeple-release-'))
  try {
    const clone = join(work, 'clone')
    await must('git', ['clone', '--quiet', '--shared', '--no-checkout', ROOT, clone])
    await must('git', ['-C', clone, 'checkout', '--quiet', commit])
    await giveTools(clone)
    await must(PNPM, ['-C', clone, 'install', '--frozen-lockfile', '--prefer-offline', '--reporter=silent'])
    const cache = `--cache-dir=${join(ROOT, '.turbo/cache')}`
    const turbo = ['run', 'build', cache, '--output-logs=errors-only', `--cwd=${clone}`]
    await must(join(clone, 'node_modules/.bin/turbo'), turbo)
    const [build, packed] = [join(work, 'build'), join(work, 'packed')]
    await must(process.execPath, [join(clone, 'scripts/builds/make.mjs'), '--out', build])
    await must(process.execPath, [join(clone, PACKER), 'deb', '--from', build, '--out', packed])
    const { trust } = await makeOutsidePlugin(clone, join(work, 'outside'), packed)
    writeFileSync(join(packed, TRUST), trust)
    mkdirSync(CACHE, { recursive: true })
    await must('cp', ['-r', packed, `${kept}.${process.pid}`])
    // Another run may have made it meanwhile; it is the same.
    if (existsSync(kept)) rmSync(`${kept}.${process.pid}`, { recursive: true })
    else renameSync(`${kept}.${process.pid}`, kept)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** The pinned Node and pnpm of a clone: those of this checkout when they are the same, what npm brings else. */
async function giveTools(clone: string): Promise<void> {
  const [own, theirs] = [ROOT, clone].map((root) =>
    readFileSync(join(root, 'tools/package-lock.json'), 'utf8'),
  )
  if (own === theirs) symlinkSync(join(ROOT, 'tools/node_modules'), join(clone, 'tools/node_modules'))
  else
    await must('npm', ['ci', '--prefix', join(clone, 'tools'), '--ignore-scripts', '--no-audit', '--no-fund'])
}

function git(...args: readonly string[]): Promise<string> {
  return must('git', ['-C', ROOT, ...args])
}

async function must(program: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' }
  const { code, said } = await run(program, args, env)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${said}`)
  return said
}
