import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..')

/** A build to try in the place of this checkout: `npm run e2e -- --without …` makes one, `--build DIR` names one. */
const BUILD = process.env.STEEPLE_E2E_BUILD

/** The command line that is tried, as Node runs it. */
export const MAIN: string = join(folderOf('cli'), 'dist/main.js')

/** Where what is tried has a package of ours. */
export function folderOf(name: string): string {
  return BUILD === undefined ? join(ROOT, 'packages', name) : join(BUILD, 'lib/node_modules/@steeple', name)
}

/** The packages that what is tried lacks. */
export const LACKS: ReadonlySet<string> = new Set(BUILD === undefined ? [] : lacksOf(BUILD))

function lacksOf(build: string): readonly string[] {
  return JSON.parse(readFileSync(join(build, 'lib/node_modules/@steeple/cli/build.json'), 'utf8')).lacks
}

/** Below paths of the mesh, but the registry's, which every build has. */
const ALWAYS = new Set(['GET /v1/nodes/{id}/enroll', 'GET /v1/nodes/{id}/leave'])
const GONE = [...LACKS].flatMap(pathsOf)
/** Of the console, whose pages are wherever nothing else is. */
const PAGES = LACKS.has('console') ? ['/'] : []

/** Whether what is tried has a route that all packages together have. */
export function isServed({ method, path }: { readonly method: string; readonly path: string }): boolean {
  if (ALWAYS.has(`${method} ${path}`)) return true
  return !PAGES.includes(path) && !GONE.some((gone) => path === gone || path.startsWith(`${gone}/`))
}

/** The prefixes of a package's routes, as the contract has them. */
function pathsOf(name: string): readonly string[] {
  const file = join(ROOT, 'packages', name, 'package.json')
  // What a build lacks can be a part that is no package of ours.
  const { steeple } = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  return Object.keys(steeple?.paths ?? {}).map((path) => path.replaceAll(/:(\w+)/g, '{$1}'))
}

/**
 * A suite for tests that are about packages: registers them when what is tried has all of these, and tells of each that it is not
 * tried otherwise.
 */
export function about<Register extends (name: string, ...rest: never[]) => void>(
  packages: readonly string[],
  register: Register,
): Register {
  const missing = packages.filter((name) => LACKS.has(name))
  if (missing.length === 0) return register
  const tell = (name: string): void => {
    process.stdout.write(`# not tried: "${name}" is about ${missing.join(', ')}\n`)
  }
  return tell as Register
}

export interface SvcRun {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Waits for the end of a command. */
export function endOf(child: ChildProcess): Promise<SvcRun> {
  const text = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (piece: string) => {
      text[name] += piece
    })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...text }))
  })
}

/** The environment of this process without any variable of the service. */
export function withoutOwnVariables(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_')))
}
