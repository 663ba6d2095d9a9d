import { spawn } from 'node:child_process'
import { eventually } from '@steeple/testkit'
import { MAIN } from '../builds/program.ts'

/** A shell that somebody who reads types into: what one command sets, the next one has. */
export interface DocumentShell {
  /** Runs a command; gives how it ended and all that it printed. An answer of HTTP that is no success is a failure. */
  run(script: string): Promise<{ readonly code: number; readonly output: string }>
  end(): void
}

const LIMIT_MS = 120_000

/** Opens one in a folder, with `svc` of this checkout. */
export function openDocumentShell(cwd: string, env: Readonly<Record<string, string>>): DocumentShell {
  const child = spawn('bash', { cwd, env: { ...withoutOurs(), ...env }, stdio: 'pipe' })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      text += chunk
    })
  child.stdin.write(`svc() { '${process.execPath}' --no-warnings '${MAIN}' "$@"; }\n`)
  child.stdin.write('curl() { command curl --fail-with-body "$@"; }\n')
  let count = 0
  return {
    run: async (script) => {
      count += 1
      const end = `--- end of ${count}`
      text = ''
      child.stdin.write(`{ ${script}\n} </dev/null\necho "${end}: $?"; echo "${end}: " >&2\n`)
      await eventually(async () => text.split(end).length > 2, LIMIT_MS)
      const code = Number(new RegExp(`${end}: (\\d+)`).exec(text)?.[1])
      return { code, output: text.replaceAll(new RegExp(`${end}: \\d*\\n`, 'g'), '') }
    },
    end: () => child.kill('SIGKILL'),
  }
}

function withoutOurs(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !/^(SVC_|LAB_CORE_|npm_)/.test(entry[0]),
  )
  return Object.fromEntries(entries)
}
