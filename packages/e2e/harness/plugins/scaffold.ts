import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../../../..')
const SVC = join(ROOT, 'packages/cli/dist/main.js')
/** Where this workspace has the tools that a plugin is built with. */
const TOOL_FOLDERS = ['packages/cli/node_modules', 'packages/testkit/node_modules', 'node_modules']

interface Package {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly bin?: string | Readonly<Record<string, string>>
}

/** How a script ended. */
export interface Ran {
  readonly code: number | null
  /** What it printed on both streams. */
  readonly output: string
}

/**
 * Does without a network what the install command of a new plugin does: `link:` dependencies become links to the folder
 * they name, the others links to this workspace's copies, and their commands are put into `node_modules/.bin`.
 */
export function linkDependencies(dir: string): void {
  const { dependencies, devDependencies } = read(dir)
  for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies })) {
    const folder = range.startsWith('link:') ? range.slice('link:'.length) : toolFolder(name)
    const link = join(dir, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(resolve(dir, folder), link)
    for (const [command, file] of commandsOf(name, folder)) {
      writeCommand(join(dir, 'node_modules', '.bin'), command, join(folder, file))
    }
  }
}

/** Runs lines as a person would type them in `cwd`, where `svc` is this build's; ends at the first that fails. */
export function runLines(
  lines: string,
  cwd: string,
  binDir: string,
  env: Readonly<Record<string, string>>,
): Promise<Ran> {
  writeCommand(binDir, 'svc', SVC)
  return new Promise((done, reject) => {
    const child = spawn('sh', ['-ec', lines], {
      cwd,
      env: {
        ...env,
        HOME: cwd,
        NO_COLOR: '1',
        PATH: [binDir, dirname(process.execPath), process.env.PATH].join(':'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    child.on('error', reject)
    child.on('close', (code) => done({ code, output }))
  })
}

function read(dir: string): Package {
  return JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
}

function toolFolder(name: string): string {
  const folder = TOOL_FOLDERS.map((base) => join(ROOT, base, name)).find((one) => existsSync(one))
  if (folder === undefined) throw new Error(`this workspace has no ${name}`)
  return folder
}

function commandsOf(name: string, folder: string): readonly (readonly [string, string])[] {
  const { bin } = read(folder)
  if (bin === undefined) return []
  return typeof bin === 'string' ? [[name, bin]] : Object.entries(bin)
}

function writeCommand(binDir: string, command: string, file: string): void {
  mkdirSync(binDir, { recursive: true })
  const path = join(binDir, command)
  writeFileSync(path, `#!/bin/sh\nexec "${process.execPath}" "${file}" "$@"\n`)
  chmodSync(path, 0o755)
}
