import { spawn } from 'node:child_process'
import { MAIN } from '../builds/program.ts'
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
