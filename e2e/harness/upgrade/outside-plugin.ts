import { copyFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run } from '../builds/make-build.ts'
import { startRegistry } from '../plugins/registry.ts'
import { type PackagedBox, URL_OF_BOX } from './packaged-box.ts'

/** The plugin, by its name. */
const OUTSIDE = 'field-notes'
const FILE = `${OUTSIDE}-0.1.0.tgz`
const NOTES = `/v1/${OUTSIDE}/notes`

/** A signed package of somebody else, and what goes into `plugins.trust` to believe whoever signed it. */
export interface OutsidePlugin {
  readonly file: string
  readonly trust: string
}

/**
 * Makes a project outside of any repository with a release, whose built checkout is `checkout`: what its command writes, with what its
 * packages need from a registry alone, and signs it by a key that was made for it. Puts the package into `out`.
 */
export async function makeOutsidePlugin(checkout: string, work: string, out: string): Promise<OutsidePlugin> {
  mkdirSync(work)
  const registry = await startRegistry(join(work, 'registry'), checkout)
  const env = {
    ...registry.env,
    HOME: work,
    NO_COLOR: '1',
    PATH: [dirname(process.execPath), process.env.PATH].join(':'),
  }
  const svc = [process.execPath, join(checkout, 'packages/cli/dist/main.js')]
  const must = async (...command: readonly string[]): Promise<string> => {
    const [code, said] = await inFolder(work, command, env)
    if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${said}`)
    return said
  }
  try {
    await must(
      process.execPath,
      join(checkout, 'scripts/builds/pack.mjs'),
      'npm',
      '--out',
      join(work, 'packed'),
    )
    const made = ['--kind', 'feature', '--packages', join(work, 'packed'), '--dir', join(work, OUTSIDE)]
    await must(...svc, 'plugin', 'new', OUTSIDE, ...made)
    await must('sh', '-ec', `cd ${OUTSIDE} && npm install && npm test && npm run build`)
    const key = join(work, 'outside.key')
    const { trust } = JSON.parse(await must(...svc, 'plugin', 'key', key, '--json'))
    await must(...svc, 'plugin', 'pack', OUTSIDE, '--key', key, '--out', work)
    mkdirSync(out, { recursive: true })
    copyFileSync(join(work, FILE), join(out, FILE))
    return { file: join(out, FILE), trust }
  } finally {
    await registry.close()
  }
}

async function inFolder(
  folder: string,
  command: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<readonly [number | null, string]> {
  const { code, said } = await run('sh', ['-ec', 'cd "$0" && exec "$@"', folder, ...command], env)
  return [code, said]
}

/** What an operator writes to have it: whom to believe, and a key of its own. */
export function configOfOutside({ trust }: OutsidePlugin): string {
  return `plugins:\n  trust:\n    - ${JSON.stringify(trust)}\nfield_notes:\n  max_notes: 2\n`
}

/** Installs it, and uses it as far as its configuration allows. */
export async function useOutside({ debian, svc, ask }: PackagedBox, { file }: OutsidePlugin): Promise<void> {
  const place = `/var/tmp/${FILE}`
  await debian.must('install', '-o', 'steeple', '-m', '600', debian.bring(file), place)
  await svc('plugin', 'load', place)
  await debian.must('rm', place)
  for (const name of ['mast', 'shed']) {
    const { status } = await ask('PUT', `${NOTES}/${name}`, { body: `of the ${name}` })
    if (status >= 300) throw new Error(`${URL_OF_BOX}${NOTES}/${name}: ${status}`)
  }
}

/** What must outlive a change of the programs: who has signed it, its rows, and that its configuration holds. */
export interface KeptOfOutside {
  readonly state: string
  readonly version: string
  readonly signedBy: string | null
  readonly notes: { readonly notes: readonly object[] }
  /** Status and code of what its configuration forbids. */
  readonly third: readonly [number, string]
}

/** Looks at it. */
export async function keptOfOutside({ get, ask, all }: PackagedBox): Promise<KeptOfOutside> {
  const record = (await all('/v1/plugins', 'plugins')).find(({ name }) => name === OUTSIDE)
  const third = await ask('PUT', `${NOTES}/third`, { body: 'one too many' })
  return {
    state: record?.state,
    version: record?.version,
    signedBy: record?.signed_by,
    notes: await get(NOTES),
    third: [third.status, third.body.error.code],
  }
}
