import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MAIN } from '../builds/program.ts'

/** How a script ended. */
export interface Ran {
  readonly code: number | null
  /** What it printed on both streams. */
  readonly output: string
}

/** Runs lines as a person would type them in `cwd`, where `svc` is this build's; ends at the first that fails. */
export function runLines(
  lines: string,
  cwd: string,
  binDir: string,
  env: Readonly<Record<string, string>>,
): Promise<Ran> {
  writeCommand(binDir, 'svc', MAIN)
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

function writeCommand(binDir: string, command: string, file: string): void {
  mkdirSync(binDir, { recursive: true })
  const path = join(binDir, command)
  writeFileSync(path, `#!/bin/sh\nexec "${process.execPath}" "${file}" "$@"\n`)
  chmodSync(path, 0o755)
}
