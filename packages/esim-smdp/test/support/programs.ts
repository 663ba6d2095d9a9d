import { execFile } from 'node:child_process'

/** What a program said and how it ended. */
export interface Ended {
  readonly code: number | null
  readonly out: string
}

/** Runs a program to its end; both of its outputs together. */
export function run(program: string, args: readonly string[], input = ''): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, (error, out, err) => {
      const code = error === null ? 0 : (error.code ?? null)
      if (typeof code === 'string') reject(error)
      else resolve({ code, out: out + err })
    })
    // It may have ended before it has read everything.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input)
  })
}
