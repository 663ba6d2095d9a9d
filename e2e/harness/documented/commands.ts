import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MAIN } from '../builds/program.ts'
import { ROOT } from '../launch.ts'
import { typedShell } from '../tutorial-steps.ts'

/** A shell that somebody who reads types into: what one command sets, the next one has. */
export interface DocumentShell {
  /** Runs a command; gives how it ended and all that it printed. An answer of HTTP that is no success is a failure. */
  run(script: string): Promise<{ readonly code: number; readonly output: string }>
  end(): void
}

const CODE = '--- ended with '

/** Opens one in a folder, with `svc` of this checkout. */
export function openDocumentShell(cwd: string, env: Readonly<Record<string, string>>): DocumentShell {
  const child = spawn('bash', { cwd, env: { ...withoutOurs(), ...env }, stdio: 'pipe' })
  const shell = typedShell(child)
  child.stdin.write(`svc() { '${process.execPath}' --no-warnings '${MAIN}' "$@"; }\n`)
  child.stdin.write('curl() { command curl --fail-with-body "$@"; }\n')
  return {
    run: async (script) => {
      const said = await shell.run(`{ ${script}\n} </dev/null\necho "${CODE}$?"`)
      const [output = '', code] = said.split(CODE)
      return { code: Number.parseInt(code ?? '', 10), output }
    },
    end: () => child.kill('SIGKILL'),
  }
}

/** The environment of this process without what service, lab core and npm read. */
export function withoutOurs(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !/^(SVC_|LAB_CORE_|npm_)/.test(name))
  return Object.fromEntries(entries)
}

/** A command that stands in the documentation. */
export interface Command {
  /** The page, from `docs/`. */
  readonly page: string
  readonly line: number
  /** As it stands there, its continuations included. */
  readonly script: string
}

/** A block of commands, and what the page shows directly below it. */
export interface Block {
  readonly page: string
  readonly commands: readonly Command[]
  /** JSON that one of the commands answers; texts in it may end with … */
  readonly shown: unknown
}

const FENCE = /^( *)```(\w*)\n([\s\S]*?)^ *```$/gm
const SHELLS: readonly string[] = ['sh', 'bash', 'console']

/** Pages of the documentation that have commands, by path from `docs/`. */
export function documentedBlocks(): ReadonlyMap<string, readonly Block[]> {
  const folder = join(ROOT, 'docs')
  const found = pagesOfDocs().map(
    (page) => [page, blocksOf(page, readFileSync(join(folder, page), 'utf8'))] as const,
  )
  return new Map(found.filter(([, blocks]) => blocks.length > 0))
}

/** What stands in blocks that are no commands, by page and line. */
export function otherBlocks(): ReadonlyMap<string, string> {
  const found = pagesOfDocs().flatMap((page) => {
    const text = readFileSync(join(ROOT, 'docs', page), 'utf8')
    return [...text.matchAll(FENCE)]
      .filter(([, , language = '']) => !SHELLS.includes(language))
      .map(({ index, 3: body = '' }) => [`${page}:${text.slice(0, index).split('\n').length}`, body] as const)
  })
  return new Map(found)
}

function pagesOfDocs(): readonly string[] {
  return readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !path.startsWith('site/'))
    .sort()
}

/** The blocks of commands of a page, in its order. */
function blocksOf(page: string, text: string): readonly Block[] {
  const fences = [...text.matchAll(FENCE)]
  return fences.flatMap(([all, indent = '', language = '', body = ''], at) => {
    if (!SHELLS.includes(language)) return []
    const fence = fences[at]
    const start = text.slice(0, fence?.index).split('\n').length + 1
    const lines = body.split('\n').map((line) => line.slice(indent.length))
    const next = fences[at + 1]
    const isBelow =
      next !== undefined && text.slice((fence?.index ?? 0) + all.length, next.index).trim() === ''
    return [
      {
        page,
        commands: commandsIn(page, language, lines, start),
        shown: isBelow && next[2] === 'json' ? JSON.parse(next[3] ?? '') : undefined,
      },
    ]
  })
}

function commandsIn(
  page: string,
  language: string,
  lines: readonly string[],
  start: number,
): readonly Command[] {
  const commands: Command[] = []
  let open: Command | undefined
  for (const [at, text] of lines.entries()) {
    const isPrompt = text.startsWith('$ ')
    // Beside a prompt stands what was printed.
    if (open === undefined && (text.trim() === '' || (language === 'console' && !isPrompt))) continue
    const line = isPrompt ? text.slice(2) : text
    open =
      open === undefined
        ? { page, line: start + at, script: line }
        : { ...open, script: `${open.script}\n${line}` }
    if (isUnfinished(open.script)) continue
    commands.push(open)
    open = undefined
  }
  if (open !== undefined) throw new Error(`docs/${page}:${open.line}: the command does not end`)
  return commands
}

/** A backslash at the end, or a quote that is open. */
function isUnfinished(script: string): boolean {
  const bare = script.replaceAll(/"[^"\n]*"/g, '').replaceAll(/\s# .*$/gm, '')
  return script.endsWith('\\') || (bare.match(/'/g) ?? []).length % 2 === 1
}
