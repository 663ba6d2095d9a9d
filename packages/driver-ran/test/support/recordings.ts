import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** One line that a program printed, and when. */
export interface RecordedLine {
  readonly atMs: number
  readonly stream: 'out' | 'err'
  readonly text: string
}

const FOLDER = fileURLToPath(new URL('../fixtures', import.meta.url))

/** Absolute path of the recording whose name begins with that. */
export function recordingPath(prefix: string): string {
  const name = readdirSync(FOLDER).find((each) => each.startsWith(prefix))
  if (name === undefined) throw new Error(`there is no recording ${prefix}`)
  return `${FOLDER}/${name}`
}

/** The text of a recording. */
export function recording(prefix: string): string {
  return readFileSync(recordingPath(prefix), 'utf8')
}

/** Names of the recordings that begin with that. */
export function namesOf(prefix: string): readonly string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.startsWith(prefix))
    .sort()
}

/** What the program printed in a recording. */
export function linesOf(text: string): readonly RecordedLine[] {
  const lines: RecordedLine[] = []
  for (const line of text.split('\n')) {
    const found = /^ *([0-9.]+) (out|err) {5}(.*?)(?: {3}\[read late\])?$/.exec(line)
    if (found === null || found[3] === '<EOF>') continue
    lines.push({
      atMs: Number(found[1]) * 1000,
      stream: found[2] === 'err' ? 'err' : 'out',
      text: found[3] ?? '',
    })
  }
  return lines
}

/** The exit code of a recording; undefined when the program was still running. */
export function exitCodeOf(text: string): number | undefined {
  const code = Number(/DRIVER +exit code=(-?\d+)/.exec(text)?.[1])
  return code < 0 || Number.isNaN(code) ? undefined : code
}
