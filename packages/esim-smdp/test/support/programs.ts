import { spawn } from 'node:child_process'

/** What a program said and how it ended. */
export interface Ended {
  readonly code: number | null
  readonly out: string
}

/** Runs a program to its end; both of its outputs together. */
export function run(program: string, args: readonly string[], input = ''): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    let out = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        out += text
      })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out }))
    // It may have ended before it has read everything.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}
