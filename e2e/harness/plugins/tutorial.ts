import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ROOT } from '../launch.ts'

/** What a tutorial has its reader do: write a file, or run commands. */
export type Step =
  | { readonly kind: 'file'; readonly path: string; readonly content: string }
  | { readonly kind: 'commands'; readonly once: string; readonly look: string }

/**
 * The steps of a page, in order. A file is a block behind a line that is its name and a colon. Commands behind the last `sleep` of
 * a block look at what came of it, as often as it takes; other waits stand there for people.
 */
export function stepsOfTutorial(page: string, replace: (text: string) => string): readonly Step[] {
  const text = replace(readFileSync(join(ROOT, 'docs/tutorials', page), 'utf8'))
  const steps: Step[] = []
  for (const [, path, language, body = ''] of text.matchAll(
    /^(?:`([\w./-]+)`:\n\n)?```(\w+)\n([\s\S]*?)^```$/gm,
  )) {
    if (path !== undefined) steps.push({ kind: 'file', path, content: body })
    else if (language === 'sh') steps.push({ kind: 'commands', ...parted(body) })
  }
  return steps
}

function parted(block: string): { readonly once: string; readonly look: string } {
  const lines = block.trimEnd().split('\n')
  const at = lines.findLastIndex((line) => /^sleep \d+$/.test(line))
  const isWait = (line: string): boolean => /^sleep \d+$/.test(line)
  const once = lines.slice(0, at + 1).filter((line) => !isWait(line))
  return at === -1
    ? { once: lines.join('\n'), look: '' }
    : { once: once.join('\n'), look: lines.slice(at + 1).join('\n') }
}

/** Writes a file of a project. */
export function writeStep(dir: string, { path, content }: Step & { readonly kind: 'file' }): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true })
  writeFileSync(join(dir, path), content)
}

/** A shell that stays, as a person has one open. */
export interface OpenShell {
  /** Runs lines, and gives what they printed on both streams. Throws with that when a command failed. */
  run(lines: string): Promise<string>
  /** Ends it, and all that it began. */
  close(): Promise<void>
}

const END = '--- end of the step'
const FAILED = '--- failed:'

/** Opens a shell in a folder. */
export function openShell(cwd: string, env: Readonly<Record<string, string | undefined>>): OpenShell {
  // A group of its own, to be ended as one.
  const child = spawn('bash', ['--noprofile', '--norc'], { cwd, env: { ...env }, detached: true })
  let output = ''
  let heard = Promise.withResolvers<void>()
  const ended = new Promise<void>((done) => child.on('close', () => done()))
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      heard.resolve()
    })
  let isOpen = true
  void ended.then(() => {
    isOpen = false
    heard.resolve()
  })
  child.stdin.on('error', () => undefined)
  child.stdin.write(`exec 2>&1\ntrap 'echo "${FAILED} $BASH_COMMAND"' ERR\n`)
  return {
    run: async (lines) => {
      output = ''
      child.stdin.write(`${lines}\necho "${END}"\n`)
      while (isOpen && !output.includes(`${END}\n`)) {
        heard = Promise.withResolvers()
        if (!output.includes(`${END}\n`)) await heard.promise
      }
      const said = output.split(END, 1)[0] ?? ''
      // Whoever waits for what he ended is told how it ended.
      const hasFailed = said
        .split('\n')
        .some((line) => line.startsWith(FAILED) && !/failed: wait /.test(line))
      if (!isOpen || hasFailed) throw new Error(`in ${lines}\n${output}`)
      return said
    },
    close: async () => {
      if (isOpen && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      child.stdin.end()
      await ended
    },
  }
}
